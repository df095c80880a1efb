// The split of elastic memory over the limits of engines.
#include "router/core/shares/share_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/generator.h"

namespace penstock {
namespace {

ShareClaim Claim(double limit, double floor, double want) { return {limit, floor, want, false}; }
ShareClaim Fixed(double limit) { return {limit, 0, 0, true}; }
double SumOf(const std::vector<double>& limits) { return std::accumulate(limits.begin(), limits.end(), 0.0); }

TEST(SharePlan, GivesWhatIsWantedAndSpreadsTheRest) {
  const std::vector<double> limits = SplitMemory({Claim(50, 20, 60), Claim(50, 10, 10)}, 100);
  EXPECT_DOUBLE_EQ(limits[0], 75);
  EXPECT_DOUBLE_EQ(limits[1], 25);
}

TEST(SharePlan, GivesAllTheSamePartWhereTooMuchIsWanted) {
  const std::vector<double> limits = SplitMemory({Claim(50, 20, 180), Claim(50, 20, 60)}, 100);
  EXPECT_DOUBLE_EQ(limits[0], 20 + 160 * 0.3);
  EXPECT_DOUBLE_EQ(limits[1], 20 + 40 * 0.3);
}

TEST(SharePlan, LeavesAFixedLimitAsItIs) {
  const std::vector<double> limits = SplitMemory({Fixed(40), Claim(30, 0, 100), Claim(30, 0, 0)}, 100);
  EXPECT_DOUBLE_EQ(limits[0], 40);
  EXPECT_DOUBLE_EQ(SumOf(limits), 100);
  EXPECT_GT(limits[1], 55);
}

TEST(SharePlan, KeepsAnIdleEngineAbleToBegin) {
  const std::vector<double> limits = SplitMemory({Claim(50, 0, 0), Claim(50, 0, 1e6)}, 100);
  EXPECT_DOUBLE_EQ(limits[0], 5);
  EXPECT_DOUBLE_EQ(limits[1], 95);
}

TEST(SharePlan, NeverGoesBelowAFloorNorAboveTheMemory) {
  bench::Generator generator(11);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<ShareClaim> claims;
    double floors = 0;
    for (int i = 0; i < 2 + round % 6; ++i) {
      ShareClaim claim = Claim(generator.Uniform() * 50, generator.Uniform() * 12, generator.Uniform() * 200);
      claim.want = std::max(claim.want, claim.floor);
      claim.fixed = generator.Uniform() < 0.2;
      floors += claim.fixed ? claim.limit : std::max(claim.floor, 0.1 * 100 / (2 + round % 6));
      claims.push_back(claim);
    }
    const std::vector<double> limits = SplitMemory(claims, 100);
    for (size_t i = 0; i < claims.size(); ++i) {
      EXPECT_GE(limits[i], claims[i].fixed ? claims[i].limit : claims[i].floor);
      EXPECT_TRUE(!claims[i].fixed || limits[i] == claims[i].limit);
    }
    EXPECT_LE(SumOf(limits), std::max(100.0, floors) + 1e-9) << "round " << round;
  }
}

TEST(SharePlan, IsUnevenWhereOneEngineIsFullAndAnotherIsNot) {
  EXPECT_TRUE(IsUneven({Claim(50, 10, 45), Claim(50, 10, 20)}, 100));
  EXPECT_FALSE(IsUneven({Claim(50, 10, 45), Claim(50, 10, 40)}, 100)) << "both are full";
  EXPECT_FALSE(IsUneven({Claim(50, 10, 30), Claim(50, 0, 0)}, 100)) << "nobody needs more";
  EXPECT_FALSE(IsUneven({Claim(50, 10, 45), Fixed(50)}, 100)) << "nobody else may move";
  EXPECT_TRUE(IsUneven({Claim(50, 10, 45), Fixed(0)}, 100)) << "half of the memory is with nobody";
  EXPECT_FALSE(IsUneven({Claim(50, 10, 30), Fixed(0)}, 100)) << "and nobody needs it";
  EXPECT_TRUE(IsUneven({Claim(80, 0, 0), Claim(80, 0, 0)}, 100)) << "the limits are more than the memory";
}

TEST(SharePlan, ASmallMoveIsNotWorthAnOrder) {
  const std::vector<ShareClaim> claims = {Claim(50, 0, 0), Claim(50, 0, 0)};
  EXPECT_FALSE(IsWorthMoving(claims, {51, 49}, 100));
  EXPECT_TRUE(IsWorthMoving(claims, {52, 48}, 100));
}

}  // namespace
}  // namespace penstock
