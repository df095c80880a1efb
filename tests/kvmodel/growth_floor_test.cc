#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kvmodel/growth_forecast.h"
#include "tests/kvmodel/growth_members.h"

namespace penstock {
namespace {

// A random member; half of them end by the curve, some are about to end, some hold shared blocks.
GrowthMember DrawGrowing(std::mt19937_64& random, const SurvivalCurve& curve) {
  const auto below = [&random](uint64_t n) { return static_cast<double>(random() % n); };
  GrowthMember member = MemberOf(1 + below(4000), below(500), 0);
  member.output_cap = member.generated + 1 + below(random() % 4 == 0 ? 4 : 2000);
  member.pace = {1 + below(100), 1 + below(100)};
  member.prompt_sigma = below(3) * 0.1;
  member.sequences = 1 + static_cast<int>(below(3));
  member.starts_in = random() % 3 == 0 ? below(40) * 0.1 : 0;
  if (random() % 4 == 0) member.shared = std::floor(member.prompt / 2);
  if (random() % 2 == 0) member.curve = &curve;
  return member;
}

TEST(PoolGrowth, NoBoundComesBelowTheFloorWhileThePoolDoesNotChange) {
  const SurvivalCurve curve = Halving();
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    PoolGrowth pool;
    const uint64_t members = random() % 12;
    for (uint64_t i = 0; i < members; ++i) {
      const Instant made = kStart + Duration::Milliseconds(static_cast<int64_t>(random() % 1500));
      pool.Add(ContributionOf(DrawGrowing(random, curve)), made);
    }
    if (random() % 3 == 0) pool.AddShared(static_cast<double>(random() % 3000));
    const double z = static_cast<double>(random() % 20) * 0.1;
    const Instant made = kStart + Duration::Milliseconds(1500 + static_cast<int64_t>(random() % 500));
    const PoolPeak floor = pool.Floor(z, made);
    const double present = pool.PresentFloor(made);
    for (const int64_t later : {0, 1, 25, 90, 400, 1900, 7000}) {
      const Instant now = made + Duration::Milliseconds(later);
      const GrowthVector joining = ContributionOf(DrawGrowing(random, curve));
      const double least = floor.bound + std::min(joining.mean[0], joining.mean[floor.horizon]);
      ASSERT_LE(least, pool.PeakWith(joining, z, now).bound) << "round " << round << ", " << later << " ms later";
      ASSERT_LE(least, pool.PeakWith(joining, z + 0.3, now).bound);
      ASSERT_LE(present, pool.Present(now));
    }
  }
}

// Half of 100 members end within a tenth of a second.
PoolGrowth HalfEndsAtOnce() {
  PoolGrowth pool;
  for (int i = 0; i < 100; ++i) pool.Add(ContributionOf(MemberOf(100, 1, i % 2 == 0 ? 2 : 100'000)), kStart);
  return pool;
}

TEST(PoolGrowth, OutputsThatEndAtOnceDoNotMultiplyTheOthers) {
  const PoolGrowth pool = HalfEndsAtOnce();
  // All 100 are still there: the line through the first two horizons falls to nothing within 200 ms.
  for (const int64_t age : {150, 190, 199, 230, 1000}) {
    const Instant now = kStart + Duration::Milliseconds(age);
    EXPECT_NEAR(pool.Present(now), 100 * 101 + 100 * 20 * static_cast<double>(age) * 1e-3, 1e-3) << age;
    EXPECT_LT(pool.MeanAt(5, now), 2.01 * 50 * (101 + 20 * 6.0)) << age;
    EXPECT_GE(pool.MeanAt(5, now), 50 * (101 + 20 * 5.0)) << age;
  }
}

TEST(PoolGrowth, TheFloorHoldsWhereTheLivingAreClamped) {
  const PoolGrowth pool = HalfEndsAtOnce();
  for (const int64_t made : {0, 100, 150, 190, 230, 1500}) {
    const PoolPeak floor = pool.Floor(1, kStart + Duration::Milliseconds(made));
    const double present = pool.PresentFloor(kStart + Duration::Milliseconds(made));
    for (const int64_t later : {0, 20, 45, 95, 400, 3000}) {
      const Instant now = kStart + Duration::Milliseconds(made + later);
      ASSERT_LE(floor.bound, pool.Peak(1, now)) << made << " ms, " << later << " ms later";
      ASSERT_LE(present, pool.Present(now)) << made << " ms, " << later << " ms later";
    }
  }
}

TEST(PoolGrowth, TheFloorOfStreamsThatLastIsCloseToTheirPeak) {
  const SurvivalCurve curve = Halving();
  PoolGrowth pool;
  for (int i = 0; i < 100; ++i) {
    GrowthMember member = MemberOf(500 + 7 * i, i, 100'000);
    member.curve = &curve;
    member.pace = DecodePace::Steady(5);
    pool.Add(ContributionOf(member), kStart);
  }
  const Instant now = kStart + Duration::Milliseconds(200);
  EXPECT_GT(pool.Floor(1.5, now).bound, 0.98 * pool.Peak(1.5, now));
}

}  // namespace
}  // namespace penstock
