#include "router/policies/variants/penstock_rules.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class PenstockRulesTest : public ::testing::Test {
 protected:
  GrowthVector Joining(const RequestState* request) { return ContributionOf(test_.MemberOf(*request)); }
  double Bound(const MemoryRule& rule, const GrowthVector& joining) {
    return rule.BoundWith(test_.rooms.fleet.pool(PoolId(0)), joining, LastHorizonOf(joining), test_.now).bound;
  }
  OrderQuestion Question(const RequestState* request) {
    return {*request, test_.rooms.fleet.GoalsOf(*request), test_.rooms.servers, test_.rooms.forecasts, test_.now};
  }

  TestRooms test_;
};

TEST_F(PenstockRulesTest, WithoutVarianceTheBoundIsTheMean) {
  test_.Decoding(1, 1000);
  const GrowthVector joining = Joining(test_.New(2, 500));
  EXPECT_LT(Bound(VariedForecast(0.99, false), joining), Bound(VariedForecast(0.99, true), joining));
  EXPECT_EQ(Bound(VariedForecast(0.5, true), joining), Bound(ForecastRule(), joining));
  EXPECT_EQ(VariedForecast(0.5, true).Fill(), 0.5);
}

TEST_F(PenstockRulesTest, PresentUseCountsTheMemoryThatIsHeldNow) {
  test_.Decoding(1, 1000);
  const GrowthVector joining = Joining(test_.New(2, 500));
  EXPECT_NEAR(Bound(PresentUse(0.95), joining), 1501, 1);
  EXPECT_EQ(PresentUse(0.95).Fill(), 0.95);
}

TEST_F(PenstockRulesTest, UnlimitedMemoryHasRoomForEveryRequest) {
  test_.Decoding(1, 90'000);
  EXPECT_EQ(Bound(UnlimitedMemory(), Joining(test_.New(2, 40'000))), 0);
}

TEST_F(PenstockRulesTest, TheOrdersPutTheCheapestByTheirOwnMeasureFirst) {
  DeadlineOrder deadline;
  DensityFirst density;
  ShortestWorkFirst shortest;
  const RequestState* large = test_.New(1, 20'000);
  test_.Wait(Duration::Seconds(1));
  const RequestState* small = test_.New(2, 100);
  EXPECT_LT(deadline.PlaceOf(Question(large)), deadline.PlaceOf(Question(small)));
  EXPECT_GT(density.PlaceOf(Question(large)), density.PlaceOf(Question(small)));
  EXPECT_GT(shortest.PlaceOf(Question(large)), shortest.PlaceOf(Question(small)));
}

TEST(VariedOutputs, TenantsShareACurveWhereTheyAreNotTold) {
  RequestArrived arrived;
  arrived.tenant = TenantId(7);
  EXPECT_EQ(VariedOutputs({}).KeyOf(arrived).tenant, TenantId(7));
  EXPECT_EQ(VariedOutputs({.by_tenant = false}).KeyOf(arrived).tenant, TenantId());
}

TEST(VariedOutputs, AnOutputIsKnownOnlyWhereAnOracleIsGiven) {
  EXPECT_EQ(VariedOutputs({}).OutputOf(RequestId(1)), std::nullopt);
  const VariedOutputs oracle(
      {.in_growth = false, .output_of = [](RequestId id) { return Tokens(static_cast<int64_t>(id.value()) * 10); }});
  EXPECT_EQ(oracle.OutputOf(RequestId(4)), Tokens(40));
  EXPECT_FALSE(oracle.InGrowth());
}

}  // namespace
}  // namespace penstock::testing
