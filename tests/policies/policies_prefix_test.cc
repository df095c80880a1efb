// The choices of the policies that follow prefixes: chwbl, cache_aware and dynamo_cost, and the index of sent prefixes.
#include <gtest/gtest.h>

#include <map>

#include "router/policies/balancers/cache_aware.h"
#include "router/policies/balancers/chwbl.h"
#include "router/policies/balancers/dynamo_cost.h"
#include "router/policies/kit/sent_prefixes.h"
#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

// A prompt of whole blocks, whose first `shared` are those of every prompt of the same family.
RequestArrived WithPrefix(uint64_t id, uint64_t family, int blocks, int shared) {
  RequestArrived request = Stepper::Request(id, kPrefixBlock.value() * blocks);
  for (int i = 0; i < blocks; ++i) {
    request.prefix.push_back(i < shared ? family * 1000 + static_cast<uint64_t>(i)
                                        : (id << 32) + static_cast<uint64_t>(i));
  }
  return request;
}

ReplicaId ReplicaOf(const std::vector<Action>& actions) {
  const auto forward = Only<Forward>(actions);
  EXPECT_TRUE(forward.has_value());
  return forward ? forward->replica : ReplicaId(99);
}

void Finish(Stepper& step, double at, uint64_t id) {
  step.At(at, RequestClosed{RequestId(id), Outcome::kFinished, Tokens(0), Tokens(10), false});
}

TEST(SentPrefixes, TheLeadingBlocksThatWereSentMatch) {
  SentPrefixes sent{{}};
  sent.Insert(ReplicaId(1), WithPrefix(1, 7, 4, 3), Instant());

  EXPECT_EQ(sent.Matched(ReplicaId(1), WithPrefix(2, 7, 6, 3), Instant()), kPrefixBlock * 3);
  EXPECT_EQ(sent.Matched(ReplicaId(1), WithPrefix(2, 8, 6, 3), Instant()), Tokens(0));
  EXPECT_EQ(sent.Matched(ReplicaId(0), WithPrefix(2, 7, 6, 3), Instant()), Tokens(0));
  EXPECT_EQ(sent.Size(ReplicaId(1)), kPrefixBlock * 4);
}

TEST(SentPrefixes, BeyondItsCapacityTheLeastRecentLeavesAreForgotten) {
  SentPrefixes sent({kPrefixBlock * 4, Duration::Infinite()});
  sent.Insert(ReplicaId(0), WithPrefix(1, 1, 3, 3), Instant());
  sent.Insert(ReplicaId(0), WithPrefix(2, 2, 2, 2), Instant());

  EXPECT_EQ(sent.Size(ReplicaId(0)), kPrefixBlock * 4);
  EXPECT_EQ(sent.Matched(ReplicaId(0), WithPrefix(3, 1, 3, 3), Instant()), kPrefixBlock * 2);
  EXPECT_EQ(sent.Matched(ReplicaId(0), WithPrefix(3, 2, 2, 2), Instant()), kPrefixBlock * 2);
}

TEST(SentPrefixes, AfterItsTimeAPrefixNoLongerMatches) {
  SentPrefixes sent({kPrefixBlock * 100, Duration::Seconds(120)});
  sent.Insert(ReplicaId(0), WithPrefix(1, 1, 3, 3), Instant());

  EXPECT_EQ(sent.Matched(ReplicaId(0), WithPrefix(2, 1, 3, 3), Instant::FromSeconds(120)), kPrefixBlock * 3);
  EXPECT_EQ(sent.Matched(ReplicaId(0), WithPrefix(2, 1, 3, 3), Instant::FromSeconds(121)), Tokens(0));
}

class ChwblTest : public ::testing::Test {
 protected:
  ChwblTest() { step_.Start(SmallFleet(4)); }
  RivalOf<Chwbl> policy_{Chwbl::Options{}};
  Stepper step_{policy_};
};

TEST_F(ChwblTest, EqualPrefixesGoToTheSameReplicaWhileItHasRoom) {
  for (uint64_t family = 1; family <= 20; ++family) {
    const ReplicaId owner = ReplicaOf(step_.At(1, WithPrefix(family * 2, family, 2, 1)));
    Finish(step_, 1.1, family * 2);
    EXPECT_EQ(ReplicaOf(step_.At(2, WithPrefix(family * 2 + 1, family, 3, 1))), owner);
    Finish(step_, 2.1, family * 2 + 1);
  }
}

TEST_F(ChwblTest, NoReplicaHasMoreThanTheFactorTimesTheMean) {
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 100; ++id) ++chosen[ReplicaOf(step_.At(1, WithPrefix(id, 1, 2, 1))).value()];
  // One prefix for all: its owner is filled to ceil(1.25 x 100 / 4), then the next on the ring.
  for (const auto& [replica, count] : chosen) EXPECT_LE(count, 32) << replica;
  EXPECT_GE(chosen.size(), 4u);
}

TEST_F(ChwblTest, DifferentPrefixesAndShortPromptsSpread) {
  std::map<uint32_t, int> owners, of_short;
  for (uint64_t id = 1; id <= 200; ++id) {
    ++owners[ReplicaOf(step_.At(1, WithPrefix(id, id, 1, 1))).value()];
    Finish(step_, 1, id);
    ++of_short[ReplicaOf(step_.Arrive(1, 1000 + id)).value()];
    Finish(step_, 1, 1000 + id);
  }
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_GE(owners[i], 25);
    EXPECT_GE(of_short[i], 25);
  }
}

TEST_F(ChwblTest, WhenAReplicaGoesOnlyItsPrefixesMove) {
  std::map<uint64_t, ReplicaId> owner;
  for (uint64_t id = 1; id <= 40; ++id) {
    owner[id] = ReplicaOf(step_.At(1, WithPrefix(id, id, 1, 1)));
    Finish(step_, 1, id);
  }
  step_.At(2, ReplicaHealth{ReplicaId(2), Health::kDown});
  for (uint64_t id = 1; id <= 40; ++id) {
    const ReplicaId now = ReplicaOf(step_.At(3, WithPrefix(100 + id, id, 1, 1)));
    Finish(step_, 3, 100 + id);
    EXPECT_NE(now, ReplicaId(2));
    if (owner[id] == ReplicaId(2)) continue;
    EXPECT_EQ(now, owner[id]) << id;
  }
}

TEST(CacheAware, AMatchAboveTheThresholdIsFollowed) {
  RivalOf<CacheAware> policy(CacheAware::Options{});
  Stepper step(policy);
  step.Start(SmallFleet(3));
  const ReplicaId owner = ReplicaOf(step.At(1, WithPrefix(1, 7, 8, 2)));

  // 2 of 6 blocks match: a third. The tree of the others is smaller.
  EXPECT_EQ(ReplicaOf(step.At(1, WithPrefix(2, 7, 6, 2))), owner);
}

TEST(CacheAware, BelowTheThresholdTheSmallestTreeWins) {
  RivalOf<CacheAware> policy(CacheAware::Options{});
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId owner = ReplicaOf(step.At(1, WithPrefix(1, 7, 8, 2)));

  EXPECT_NE(ReplicaOf(step.At(1, WithPrefix(2, 7, 10, 2))), owner);
  // 8 blocks there, 10 here.
  EXPECT_EQ(ReplicaOf(step.At(1, WithPrefix(3, 9, 1, 1))), owner);
}

TEST(CacheAware, WhenImbalancedTheFewestInFlightWin) {
  CacheAware::Options options;
  options.balance_abs = 4;
  RivalOf<CacheAware> policy(options);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId owner = ReplicaOf(step.At(1, WithPrefix(1, 7, 4, 4)));
  for (uint64_t id = 2; id <= 5; ++id) EXPECT_EQ(ReplicaOf(step.At(1, WithPrefix(id, 7, 4, 4))), owner) << id;

  // 5 to 0: more than 4 apart, and more than 1.5 times.
  EXPECT_NE(ReplicaOf(step.At(1, WithPrefix(6, 7, 4, 4))), owner);
}

TEST(CacheAware, AReportAboveTheOverloadShareEndsAffinity) {
  CacheAware::Options options;
  options.overload = 0.9;
  RivalOf<CacheAware> policy(options);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId owner = ReplicaOf(step.At(1, WithPrefix(1, 7, 4, 4)));
  step.Report(2, owner.value(), 0.95, 0);

  EXPECT_NE(ReplicaOf(step.At(2, WithPrefix(2, 7, 4, 4))), owner);
}

TEST(DynamoCost, CachedPrefillIsCheaperUntilActiveBlocksOutweighIt) {
  RivalOf<DynamoCost> policy(DynamoCost::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId owner = ReplicaOf(step.At(1, WithPrefix(1, 7, 4, 4)));
  step.At(1.1, FirstToken{RequestId(1)});

  // Cached there: prefill 0 + active 128 blocks; elsewhere 128 + 128.
  EXPECT_EQ(ReplicaOf(step.At(2, WithPrefix(2, 7, 4, 4))), owner);
  step.At(2.1, FirstToken{RequestId(2)});
  // A new prompt of one block costs 32 + 160 there, 32 + 32 elsewhere.
  EXPECT_NE(ReplicaOf(step.At(3, WithPrefix(3, 9, 1, 1))), owner);
}

TEST(DynamoCost, PrefillOnItsWayCountsUntilTheFirstToken) {
  RivalOf<DynamoCost> policy(DynamoCost::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId first = ReplicaOf(step.Arrive(1, 1, 3200));
  // 200 blocks of prefill and 200 active there; 225 active here once its first token came.
  const ReplicaId second = ReplicaOf(step.Arrive(1, 2, 3600));
  EXPECT_NE(second, first);
  step.At(1.2, FirstToken{RequestId(2)});

  EXPECT_EQ(ReplicaOf(step.Arrive(2, 3, 16)), second);
}

TEST(DynamoCost, WithoutOverlapWeightOnlyActiveBlocksCount) {
  DynamoCost::Options options;
  options.overlap_weight = 0;
  RivalOf<DynamoCost> policy(options, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId first = ReplicaOf(step.Arrive(1, 1, 3200));
  const ReplicaId second = ReplicaOf(step.Arrive(1, 2, 3600));
  ASSERT_NE(first, second);
  step.At(1.2, FirstToken{RequestId(2)});

  EXPECT_EQ(ReplicaOf(step.Arrive(2, 3, 16)), first);
}

TEST(DynamoCost, BooksAreEmptyWhenNothingRuns) {
  RivalOf<DynamoCost> policy(DynamoCost::Options{}, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId first = ReplicaOf(step.At(1, WithPrefix(1, 7, 4, 4)));
  Finish(step, 1.1, 1);
  const ReplicaId other = ReplicaId(1 - first.value());
  // Equal costs for a new prompt: the tree that was sent less wins.
  EXPECT_EQ(ReplicaOf(step.At(2, WithPrefix(2, 8, 1, 1))), other);
}

TEST(DynamoCost, WithAQueueRequestsWaitWhileEveryReplicaHasPrefillEnough) {
  DynamoCost::Options options;
  options.queue = 1;  // Step budget of the test fleet: 2048 tokens.
  RivalOf<DynamoCost> policy(options, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  step.Arrive(1, 1, 3000);
  step.Arrive(1, 2, 3000);
  EXPECT_EQ(Only<Park>(step.Arrive(1, 3, 100))->reason, WaitReason::kRunway);

  EXPECT_EQ(Only<Forward>(step.At(1.3, FirstToken{RequestId(1)}))->request, RequestId(3));
}

TEST(DynamoCost, ATemperatureSpreadsOverCosts) {
  DynamoCost::Options options;
  options.temperature = 1;
  RivalOf<DynamoCost> policy(options, 1);
  Stepper step(policy);
  step.Start(SmallFleet(2));
  const ReplicaId busy = ReplicaOf(step.Arrive(1, 1, 8000));
  int to_busy = 0;
  for (uint64_t id = 2; id <= 401; ++id) {
    if (ReplicaOf(step.Arrive(1, id, 16)) == busy) ++to_busy;
    Finish(step, 1, id);
  }
  // The costs are one range apart: e^-1 to 1.
  EXPECT_NEAR(to_busy, 400 * 0.269, 30);
}

}  // namespace
}  // namespace penstock
