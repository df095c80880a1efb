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
    order_.Refused(TenantId(), Tokens(20'000));
    for (int served = 0; served < 10; ++served) order_.Served(TenantId(1), Tokens(100));
  }
  const RequestState* after = test_.New(101, 20'000);
  EXPECT_LT(PlaceOf(after) - DeadlineOf(after), shift);
}

}  // namespace
}  // namespace penstock::testing
