#include "router/core/relief/parking.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class ParkingTest : public ::testing::Test {
 protected:
  ParkingTest() : test_(Pool(10'000)) { StartEvent(); }

  static FleetOptions Pool(int64_t tokens) {
    FleetOptions options;
    options.pool_tokens = tokens;
    return options;
  }
  void StartEvent() {
    recalls_.StartEvent(test_.now);
    parking_.StartEvent();
  }
  // A stream of a small prompt and so many tokens; with 300 it is far ahead of its due times.
  RequestState* Stream(uint64_t id, int64_t tokens, int64_t prompt = 1000) {
    RequestState* request = test_.Decoding(id, prompt);
    test_.Replica().Correct(request, tokens);
    test_.rooms.running.CatchUp(test_.Replica(), 100, test_.now);
    return request;
  }
  bool MakeRoom(const RequestState* waiting) {
    return parking_.MakeRoom(*waiting, {0}, test_.now, actions_).has_value();
  }
  std::vector<uint64_t> Aborted() const {
    std::vector<uint64_t> ids;
    for (const Action& action : actions_) ids.push_back(std::get<Abort>(action).request.value());
    return ids;
  }

  TestRooms test_;
  Recalls recalls_{test_.rooms.fleet, test_.rooms.running};
  Parking parking_{test_.rooms.fleet, test_.rooms.forecasts, test_.rooms.lending, test_.rooms.requests, recalls_};
  std::vector<Action> actions_;
};

TEST_F(ParkingTest, TheStreamFurthestAheadMakesRoom) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, static_cast<int64_t>(100 + 100 * id));
  EXPECT_TRUE(MakeRoom(test_.Waiting(10, 1500)));
  EXPECT_EQ(Aborted(), (std::vector<uint64_t>{6}));
  const RequestState* parked = test_.rooms.requests.Find(RequestId(6));
  EXPECT_EQ(parked->phase, RequestPhase::kAborting);
  EXPECT_EQ(parked->running.recalled_for, AbortReason::kParking);
}

TEST_F(ParkingTest, NoMoreAreParkedThanTheMemoryAsksFor) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 500);
  const RequestState* waiting = test_.Waiting(10, 1200);
  EXPECT_TRUE(MakeRoom(waiting));
  EXPECT_EQ(actions_.size(), 1u);
  StartEvent();
  EXPECT_TRUE(MakeRoom(waiting)) << "its room is on its way";
  EXPECT_EQ(actions_.size(), 1u);
  EXPECT_TRUE(MakeRoom(test_.Waiting(11, 1200)));
  EXPECT_EQ(actions_.size(), 2u) << "two requests need twice the room";
}

TEST_F(ParkingTest, WithoutStreamsAheadNobodyIsParked) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 50, 1500);
  EXPECT_FALSE(MakeRoom(test_.Waiting(10, 1500)));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(ParkingTest, AStreamThatIsParkedAlreadyTwiceStays) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 500)->parkings = id == 6 ? Lending::kMostParkings : 0;
  EXPECT_TRUE(MakeRoom(test_.Waiting(10, 1000)));
  EXPECT_NE(Aborted().front(), 6u);
}

TEST_F(ParkingTest, ARequestWithoutADeadlineDisplacesNobody) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 500);
  Fleet fleet = MakeFleet(Pool(10'000));
  fleet.classes[2].refuse_late = false;
  test_.Configure(fleet);
  EXPECT_FALSE(MakeRoom(test_.Waiting(10, 1000, ClassId(2))));
}

TEST_F(ParkingTest, NoRoomIsMadeBeyondWhatTheStreamsNeedInTheLongRun) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 500);
  const Loan loan{PoolId(0), Amount(50'000), Amount(7'900)};
  test_.rooms.fleet.pool(PoolId(0)).lending().Lend(loan);
  const RequestState* waiting = test_.Waiting(10, 1000);
  EXPECT_FALSE(MakeRoom(waiting));
  test_.rooms.fleet.pool(PoolId(0)).lending().End(loan);
  EXPECT_TRUE(MakeRoom(waiting));
}

TEST_F(ParkingTest, APoolThatIsNearlyFullIsRelieved) {
  for (uint64_t id = 1; id <= 6; ++id) Stream(id, 500);
  parking_.Relieve(test_.Replica(), test_.now, actions_);
  EXPECT_TRUE(actions_.empty()) << "9,000 of 10,000 tokens";
  Stream(7, 10, 800);
  parking_.Relieve(test_.Replica(), test_.now, actions_);
  EXPECT_EQ(actions_.size(), 1u);
}

}  // namespace
}  // namespace penstock::testing
