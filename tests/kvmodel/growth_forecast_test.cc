#include "kvmodel/growth_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/kvmodel/growth_members.h"
#include "tests/kvmodel/past_future_peak.h"

namespace penstock {
namespace {

TEST(ContributionOf, CertainMemberGrowsToItsCapAndIsGone) {
  const GrowthVector growth = ContributionOf(MemberOf(100, 0, 10));
  EXPECT_FLOAT_EQ(growth.mean[0], 100);
  EXPECT_FLOAT_EQ(growth.mean[1], 102) << "20 tokens per second for 0.1 s";
  EXPECT_FLOAT_EQ(growth.rate, 20);
  EXPECT_EQ(growth.mean[kHorizons - 1], 0);
  EXPECT_EQ(*std::max_element(growth.variance.begin(), growth.variance.end()), 0);
}

TEST(ContributionOf, PromptOnItsWayHoldsItsMemoryAndDoesNotGrow) {
  GrowthMember member = MemberOf(100, 0, 1000);
  member.starts_in = 1;
  const GrowthVector growth = ContributionOf(member);
  EXPECT_FLOAT_EQ(growth.mean[1], 100);
  EXPECT_EQ(growth.rate, 0);
  EXPECT_FLOAT_EQ(growth.most_rate, 20);
}

TEST(ContributionOf, UncertainMemberFadesAndVariesMostWhereItIsHalfDead) {
  const SurvivalCurve curve = Halving();
  GrowthMember member = MemberOf(1000, 1, 100'000);
  member.curve = &curve;
  const GrowthVector growth = ContributionOf(member);
  EXPECT_FLOAT_EQ(growth.mean[0], 1001);
  EXPECT_EQ(growth.variance[0], 0) << "the present is certain";
  EXPECT_GT(growth.variance[6], growth.variance[1]);
  EXPECT_LT(growth.mean[10], 0.2 * growth.mean[0]);
}

TEST(ContributionOf, TheSharedPartOfAPromptIsLeftOutAndItsVarianceIsNot) {
  GrowthMember member = MemberOf(1000, 20, 100'000);
  member.prompt_sigma = 0.1;
  member.sequences = 3;
  const GrowthVector whole = ContributionOf(member);
  member.shared = 600;
  const GrowthVector own = ContributionOf(member);
  EXPECT_FLOAT_EQ(own.mean[0], whole.mean[0] - 600);
  EXPECT_FLOAT_EQ(own.mean[5], whole.mean[5] - 600);
  EXPECT_FLOAT_EQ(own.variance[0], whole.variance[0]);
  EXPECT_FLOAT_EQ(own.most_rate, whole.most_rate);
}

TEST(ContributionOf, WindowedLayersAreNotShared) {
  GrowthMember member = MemberOf(1000, 0, 100'000);
  member.footprint.windowed_per_token = 4;
  member.footprint.window = Tokens(100);
  const GrowthVector whole = ContributionOf(member);
  member.shared = 1000;
  EXPECT_FLOAT_EQ(ContributionOf(member).mean[0], whole.mean[0] - 1000);
}

TEST(PoolGrowth, SharedMemoryCountsOnceAtEveryHorizon) {
  const SurvivalCurve curve = Halving();
  GrowthMember member = MemberOf(1000, 20, 100'000);
  member.curve = &curve;
  PoolGrowth pool;
  pool.Add(ContributionOf(member), kStart);
  const PoolGrowth before = pool;
  pool.AddShared(500);
  const GrowthVector nobody;
  EXPECT_DOUBLE_EQ(pool.Present(kStart), before.Present(kStart) + 500);
  EXPECT_DOUBLE_EQ(pool.Sum(), before.Sum() + 500);
  EXPECT_DOUBLE_EQ(pool.MeanAt(10, kStart), before.MeanAt(10, kStart) + 500);
  EXPECT_DOUBLE_EQ(pool.PeakWith(nobody, 1, kStart).bound, before.PeakWith(nobody, 1, kStart).bound + 500);
  EXPECT_DOUBLE_EQ(pool.BoundAt(3, member, 1, kStart), before.BoundAt(3, member, 1, kStart) + 500);
  EXPECT_GT(pool.Disagreement(before), 0.1);
  pool.AddShared(-500);
  EXPECT_EQ(pool.Disagreement(before), 0);
}

TEST(PoolGrowth, ARemovedMemberLeavesNoTrace) {
  PoolGrowth pool;
  const GrowthVector one = ContributionOf(MemberOf(100, 0, 50));
  const GrowthVector other = ContributionOf(MemberOf(500, 0, 50));
  pool.Add(one, kStart);
  const double alone = pool.Peak(1, kStart);
  pool.Add(other, kStart);
  EXPECT_EQ(pool.members(), 2);
  pool.Remove(other, kStart);
  EXPECT_DOUBLE_EQ(pool.Peak(1, kStart), alone);
  pool.Remove(one, kStart);
  EXPECT_EQ(pool.Peak(1, kStart), 0);
}

TEST(PoolGrowth, ARandomHistoryAgreesWithARecountOfItsMembers) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const SurvivalCurve curve = Halving();
  const auto draw = [&] {
    GrowthMember member = MemberOf(1 + static_cast<double>(random() % 30'000), 1 + static_cast<double>(random() % 900),
                                   static_cast<double>(1000 + random() % 4000));
    member.footprint.full_per_token = 131'072;
    member.prompt_sigma = 0.03;
    if (random() % 4 != 0) member.curve = &curve;
    return ContributionOf(member);
  };
  struct Made {
    GrowthVector contribution;
    Instant at;
  };
  std::vector<Made> members;
  PoolGrowth pool;
  for (int step = 0; step < 50'000; ++step) {
    const Instant now = kStart + Duration::Milliseconds(step);
    const uint64_t kind = random() % 8;
    const size_t at = members.empty() ? 0 : random() % members.size();
    if (members.size() < 3 || (kind == 0 && members.size() < 60)) {
      members.push_back({draw(), now});
      pool.Add(members.back().contribution, now);
    } else if (kind == 1) {
      pool.Remove(members[at].contribution, members[at].at);
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const Made made{draw(), now};
      pool.Replace(members[at].contribution, members[at].at, made.contribution, now);
      members[at] = made;
    }
  }
  PoolGrowth recounted;
  for (const Made& member : members) recounted.Add(member.contribution, member.at);
  EXPECT_LT(pool.Disagreement(recounted), 1e-6);
  EXPECT_EQ(pool.shortfalls(), 0);
}

TEST(PoolGrowth, ARemovalWithoutAnAddIsCountedAndDisagrees) {
  PoolGrowth pool;
  const GrowthVector one = ContributionOf(MemberOf(100, 0, 50));
  const GrowthVector larger = ContributionOf(MemberOf(500, 0, 50));
  pool.Add(one, kStart);
  pool.Add(one, kStart);
  pool.Remove(larger, kStart);
  EXPECT_GT(pool.shortfalls(), 0);
  PoolGrowth recounted;
  recounted.Add(one, kStart);
  EXPECT_GT(pool.Disagreement(recounted), 0.1);
}

TEST(PoolGrowth, TheRoundingOfALargeMemberThatLeftIsNoDisagreement) {
  const SurvivalCurve curve = Halving();
  GrowthMember huge = MemberOf(100'000'000, 20, 100'000'000);
  huge.curve = &curve;
  huge.prompt_sigma = 0.3;
  const GrowthVector small = ContributionOf(MemberOf(3, 0, 50));
  PoolGrowth pool;
  pool.Add(small, kStart);
  for (int i = 0; i < 20; ++i) {
    pool.Add(ContributionOf(huge), kStart);
    pool.Remove(ContributionOf(huge), kStart);
    huge.prompt = huge.prompt * 0.9 + 0.1;
  }
  PoolGrowth recounted;
  recounted.Add(small, kStart);
  EXPECT_LT(pool.Disagreement(recounted, pool.Sum() + ContributionOf(huge).mean[0]), 1e-6);
  recounted.Add(small, kStart);
  EXPECT_GT(pool.Disagreement(recounted, 1e9), 0.1) << "a member too many is one at any size";
}

TEST(PoolGrowth, OnlyAMemberThatHidesTheOthersAsksForARecount) {
  const SurvivalCurve curve = Halving();
  const auto uncertain = [&curve](double prompt) {
    GrowthMember member = MemberOf(prompt, 20, 100'000);
    member.curve = &curve;
    member.prompt_sigma = 0.3;
    return ContributionOf(member);
  };
  PoolGrowth pool;
  const GrowthVector small = uncertain(100);
  pool.Add(small, kStart);
  for (const double prompt : {100.0, 10'000.0}) {
    pool.Add(uncertain(prompt), kStart);
    EXPECT_FALSE(pool.Remove(uncertain(prompt), kStart)) << prompt;
  }
  const GrowthVector huge = uncertain(2'147'483'648.0);
  pool.Add(huge, kStart);
  EXPECT_TRUE(pool.Remove(huge, kStart));
  pool.BeginAnew();
  EXPECT_EQ(pool.members(), 0);
  pool.Add(small, kStart);
  PoolGrowth alone;
  alone.Add(small, kStart);
  EXPECT_EQ(pool.Peak(2, kStart), alone.Peak(2, kStart));
  EXPECT_FALSE(pool.Remove(small, kStart)) << "nothing is left to be hidden";
}

TEST(PoolGrowth, BoundAtAHorizonNeverPassesThePeak) {
  const SurvivalCurve curve = Halving();
  PoolGrowth pool;
  for (int i = 1; i < 20; ++i) {
    GrowthMember member = MemberOf(50 * i, 3 * i, 10'000);
    member.curve = &curve;
    pool.Add(ContributionOf(member), kStart);
  }
  const GrowthMember joining = MemberOf(700, 0, 300);
  const PoolPeak peak = pool.PeakWith(ContributionOf(joining), 1.5, kStart);
  double highest = 0;
  for (int i = 0; i < kHorizons; ++i) {
    highest = std::max(highest, pool.BoundAt(i, joining, 1.5, kStart));
  }
  EXPECT_DOUBLE_EQ(highest, peak.bound);
  EXPECT_DOUBLE_EQ(pool.BoundAt(peak.horizon, joining, 1.5, kStart), peak.bound);
}

TEST(PoolGrowth, AMemberCountsUntilItsOutputHardlyLasts) {
  const SurvivalCurve curve = Halving();
  GrowthMember member = MemberOf(1000, 0, 100'000);
  member.curve = &curve;
  const GrowthVector growth = ContributionOf(member);
  const int last = LastHorizonOf(growth);
  EXPECT_GE(growth.mean[last], 0.05 * growth.mean[0]);
  EXPECT_LT(growth.mean[last + 1], 0.05 * growth.mean[0]);
  member.curve = nullptr;
  EXPECT_EQ(LastHorizonOf(ContributionOf(member)), kHorizons - 1);
  EXPECT_EQ(LastHorizonOf(GrowthVector()), kHorizons - 1) << "nobody joins";
}

TEST(PoolGrowth, APeakThatComesOnceTheNewcomerHasLeftIsTheLaterOne) {
  PoolGrowth pool;
  for (int i = 0; i < 3; ++i) pool.Add(ContributionOf(MemberOf(1000, 0, 5000)), kStart);
  const GrowthMember joining = MemberOf(100, 0, 20);
  const GrowthVector growth = ContributionOf(joining);
  const int until = LastHorizonOf(growth);
  const PoolPeak peak = pool.PeakWith(growth, 1, kStart, until);
  EXPECT_LT(peak.bound, 3 * 1100 + 130);
  EXPECT_LE(peak.horizon, until);
  EXPECT_GT(peak.later, 3 * 5000);
  EXPECT_DOUBLE_EQ(peak.later, pool.PeakWith(growth, 1, kStart).bound);
  for (int i = 0; i < kHorizons; ++i) EXPECT_LE(pool.BoundAt(i, joining, 1, kStart), peak.bound) << i;
}

// Mean + z sigma of two large members that may end any moment is more than both could ever hold.
TEST(PoolGrowth, NeverForecastsMoreThanAllWouldHoldIfNobodyEnded) {
  const SurvivalCurve curve = Halving();
  PoolGrowth pool;
  GrowthMember member = MemberOf(16'000, 1, 100'000);
  member.curve = &curve;
  member.pace = DecodePace::Steady(2);
  pool.Add(ContributionOf(member), kStart);
  pool.Add(ContributionOf(member), kStart);
  EXPECT_GT(pool.Peak(2, kStart), 2 * 16'000);
  EXPECT_LT(pool.Peak(2, kStart), 2 * (16'000 + 2 * 20)) << "ten times the mean life";
}

// Members that live on have grown since their contributions were made, although nobody renewed them.
TEST(PoolGrowth, OldContributionsCountWhatTheLivingHaveGrown) {
  const SurvivalCurve curve = Halving();
  PoolGrowth stale;
  PoolGrowth fresh;
  const Duration age = Duration::Milliseconds(300);
  for (int i = 0; i < 100; ++i) {
    GrowthMember member = MemberOf(800, 10 + i, 10'000);
    member.curve = &curve;
    stale.Add(ContributionOf(member), kStart);
    member.generated += 20 * age.seconds();
    fresh.Add(ContributionOf(member), kStart + age);
  }
  const Instant now = kStart + age;
  EXPECT_NEAR(stale.Present(now), fresh.Present(now), 1e-3 * fresh.Present(now));
  EXPECT_LT(stale.Sum(), fresh.Sum()) << "the sum is as old as its members";
  EXPECT_NEAR(stale.Peak(1, now), fresh.Peak(1, now), 0.01 * fresh.Peak(1, now));
  EXPECT_NEAR(stale.MeanAt(1, now), fresh.MeanAt(1, now), 0.03 * fresh.MeanAt(1, now));
}

TEST(PastFuturePeak, IsTheExactPeakOfAStepByStepCount) {
  const std::vector<Outstanding> requests = {
      {Tokens(10), Tokens(5)}, {Tokens(30), Tokens(2)}, {Tokens(3), Tokens(40)}, {Tokens(7), Tokens(2)}};
  int64_t peak = 0;
  for (int64_t step = 0; step <= 40; ++step) {
    int64_t held = 0;
    for (const Outstanding& request : requests) {
      if (request.remaining.value() >= step) held += request.held.value() + step;
    }
    peak = std::max(peak, held);
  }
  EXPECT_EQ(PastFuturePeak(requests), Tokens(peak));
}

}  // namespace
}  // namespace penstock
