#include "router/core/queue/lane_order.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class LaneOrderTest : public ::testing::Test {
 protected:
  Instant PlaceOf(const RequestState* request) {
    return order_.PlaceOf(
        {*request, test_.rooms.fleet.GoalsOf(*request), test_.rooms.servers, test_.rooms.forecasts, test_.now});
  }
  Instant DeadlineOf(const RequestState* request) {
    return request->arrival + test_.rooms.fleet.GoalsOf(*request).ttft;
  }

  static RequestArrived Of(uint32_t tenant, int64_t prompt, ModelId model = ModelId(0)) {
    RequestArrived arrived;
    arrived.tenant = TenantId(tenant);
    arrived.prompt = Tokens(prompt);
    arrived.model = model;
    return arrived;
  }

  TestRooms test_;
  FairDensityOrder order_;
};

TEST_F(LaneOrderTest, ARequestOfExpensiveTokensStandsBehindItsDeadline) {
  for (uint64_t id = 1; id <= 50; ++id) PlaceOf(test_.New(id, 100));
  const RequestState* cheap = test_.New(100, 100);
  const RequestState* expensive = test_.New(101, 20'000);
  EXPECT_GE(PlaceOf(cheap), DeadlineOf(cheap));
  EXPECT_GT(PlaceOf(expensive) - DeadlineOf(expensive), PlaceOf(cheap) - DeadlineOf(cheap));
}

TEST_F(LaneOrderTest, AnEmbeddingStandsByItsDeadline) {
  for (uint64_t id = 1; id <= 50; ++id) PlaceOf(test_.New(id, 100));
  RequestState* request = test_.New(100, 20'000);
  request->arrived.embedding = true;
  EXPECT_EQ(PlaceOf(request), DeadlineOf(request));
}

TEST_F(LaneOrderTest, AClassThatIsNotRefusedForLatenessStandsByItsDeadline) {
  FleetOptions options;
  options.enforce_goals = false;
  test_.Configure(MakeFleet(options));
  const RequestState* request = test_.New(1, 20'000);
  EXPECT_EQ(PlaceOf(request), DeadlineOf(request));
}

TEST_F(LaneOrderTest, APromptLengthThatIsRefusedMoreThanAllGetsNearerToItsDeadline) {
  for (uint64_t id = 1; id <= 50; ++id) PlaceOf(test_.New(id, 100));
  const RequestState* before = test_.New(100, 20'000);
  const Duration shift = PlaceOf(before) - DeadlineOf(before);
  for (int i = 0; i < 40; ++i) {
    order_.Refused(Of(0, 20'000));
    for (int served = 0; served < 10; ++served) order_.Served(Of(1, 100));
  }
  const RequestState* after = test_.New(101, 20'000);
  EXPECT_LT(PlaceOf(after) - DeadlineOf(after), shift);
}

TEST_F(LaneOrderTest, TheRequestsOfOneModelDoNotMoveThoseOfAnother) {
  Fleet fleet = MakeFleet({});
  fleet.models.push_back({"code"});
  fleet.replicas[0].models = {ModelId(0), ModelId(1)};
  test_.Configure(fleet);
  for (uint64_t id = 1; id <= 50; ++id) PlaceOf(test_.New(id, 100));
  const RequestState* before = test_.New(100, 20'000);
  const Duration shift = PlaceOf(before) - DeadlineOf(before);
  for (int i = 0; i < 100; ++i) order_.Refused(Of(0, 100, ModelId(1)));
  for (int i = 0; i < 100; ++i) {
    RequestArrived other = Of(0, 20'000, ModelId(1));
    other.request = RequestId(1'000 + i);
    PlaceOf(test_.New(other));
  }
  EXPECT_GT(order_.RefusedShare(ModelId(1)), 0.9);
  EXPECT_EQ(order_.RefusedShare(ModelId(0)), 0);
  const RequestState* after = test_.New(101, 20'000);
  EXPECT_NEAR((PlaceOf(after) - DeadlineOf(after)).seconds(), shift.seconds(), 0.05 * shift.seconds());
}

}  // namespace
}  // namespace penstock::testing
