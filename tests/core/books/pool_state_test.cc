#include "router/core/books/pool_state.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kPoolStart = Instant::FromSeconds(100);

GrowthVector Constant(float amount) {
  GrowthVector growth;
  growth.mean.fill(amount);
  return growth;
}

PoolSpec Spec(bool fatal) {
  PoolSpec spec;
  spec.capacity = Amount(1000);
  spec.overflow_fatal = fatal;
  return spec;
}

TEST(PoolState, ItsForecastIsTheSumOfTheMembersThatJoinedAndDidNotLeave) {
  PoolState pool;
  pool.Configure(Spec(false));
  Membership first, second;
  pool.Join(first, Constant(100), /*yields=*/false, kPoolStart);
  pool.Join(second, Constant(50), /*yields=*/false, kPoolStart);
  EXPECT_DOUBLE_EQ(pool.growth().Sum(), 150);
  pool.Update(first, Constant(120), kPoolStart + Duration::Seconds(1));
  EXPECT_DOUBLE_EQ(pool.growth().Sum(), 170);
  pool.Leave(second);
  EXPECT_DOUBLE_EQ(pool.growth().Sum(), 120);
  EXPECT_EQ(pool.growth().members(), 1);
}

TEST(PoolState, AFatalPoolHoldsItsRiskHighAndALaterReloadBeginsItAnew) {
  PoolState pool;
  pool.Configure(Spec(true));
  EXPECT_EQ(pool.risk().z(), RiskControl::kFatalZ);
  pool.Configure(Spec(false));
  EXPECT_LT(pool.risk().z(), RiskControl::kFatalZ);
}

TEST(PoolState, AForecastIsComparedOnceItsHorizonHasPassed) {
  PoolState pool;
  pool.Configure(Spec(false));
  Membership member;
  pool.Join(member, Constant(100), /*yields=*/false, kPoolStart);
  pool.CheckForecast(kPoolStart);
  pool.CheckForecast(kPoolStart + Duration::Milliseconds(900));
  EXPECT_EQ(pool.ErrorAt(0).compared, 0);
  pool.CheckForecast(kPoolStart + Duration::Seconds(1));
  EXPECT_EQ(pool.ErrorAt(0).compared, 1);
  EXPECT_NEAR(pool.ErrorAt(0).error, 0, 1e-9);
  EXPECT_EQ(pool.ErrorAt(1).compared, 0);
}

TEST(PoolState, AMemberThatHoldsMoreThanForecastMakesTheErrorNegativeOverCapacity) {
  PoolState pool;
  pool.Configure(Spec(false));
  Membership member;
  pool.Join(member, Constant(100), /*yields=*/false, kPoolStart);
  pool.CheckForecast(kPoolStart);
  pool.Update(member, Constant(300), kPoolStart + Duration::Seconds(1));
  pool.CheckForecast(kPoolStart + Duration::Seconds(1));
  EXPECT_NEAR(pool.ErrorAt(0).error, -0.2, 1e-6);
}

TEST(PoolState, AMemberThatJoinedAfterAForecastTakesNoPartInItsComparison) {
  PoolState pool;
  pool.Configure(Spec(false));
  Membership early, late;
  pool.Join(early, Constant(100), /*yields=*/false, kPoolStart);
  pool.CheckForecast(kPoolStart);
  pool.Join(late, Constant(500), /*yields=*/false, kPoolStart);
  pool.CheckForecast(kPoolStart + Duration::Seconds(1));
  EXPECT_NEAR(pool.ErrorAt(0).error, 0, 1e-6);
}

TEST(YieldingMemory, AfterAnEvictionItStaysBelowItsCeilingForAWhile) {
  YieldingMemory yielding;
  yielding.Change(900);
  EXPECT_TRUE(yielding.HasRoomFor(100, kPoolStart));
  yielding.Change(-300);
  yielding.Evicted(kPoolStart + Duration::Seconds(5));
  EXPECT_FALSE(yielding.HasRoomFor(1, kPoolStart));
  yielding.Change(-200);
  EXPECT_TRUE(yielding.HasRoomFor(200, kPoolStart)) << "those that ended leave room to others like them";
  EXPECT_FALSE(yielding.HasRoomFor(201, kPoolStart));
  EXPECT_TRUE(yielding.HasRoomFor(10'000, kPoolStart + Duration::Seconds(5)));
}

TEST(YieldingMemory, ALaterShorterCeilingDoesNotEndAnEarlierOne) {
  YieldingMemory yielding;
  yielding.Change(500);
  yielding.Evicted(kPoolStart + Duration::Seconds(5));
  yielding.Change(-100);
  yielding.Evicted(kPoolStart + Duration::Seconds(1));
  EXPECT_FALSE(yielding.HasRoomFor(1, kPoolStart + Duration::Seconds(4)));
}

TEST(PoolState, CountsTheMemoryOfMembersThatYield) {
  PoolState pool;
  Membership yields, stays;
  pool.Join(yields, Constant(100), /*yields=*/true, kPoolStart);
  pool.Join(stays, Constant(50), /*yields=*/false, kPoolStart);
  EXPECT_EQ(pool.yielding().held(), 100);
  pool.Update(yields, Constant(130), kPoolStart);
  EXPECT_EQ(pool.yielding().held(), 130);
  pool.Leave(yields);
  pool.Leave(stays);
  EXPECT_EQ(pool.yielding().held(), 0);
}

TEST(PoolState, ALargeMemberThatYieldsLeavesNoRounding) {
  PoolState pool;
  Membership yields;
  pool.Join(yields, Constant(12.25), /*yields=*/true, kPoolStart);
  pool.Update(yields, Constant(10'293'661), kPoolStart);
  EXPECT_EQ(pool.yielding().held(), 10'293'661);
  pool.Leave(yields);
  EXPECT_EQ(pool.yielding().held(), 0);
}

}  // namespace
}  // namespace penstock
