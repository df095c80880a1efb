#include "router/core/penstock_core.h"

#include <gtest/gtest.h>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

Fleet SmallFleet() {
  FleetOptions options;
  options.pool_tokens = 10'000;
  return MakeFleet(options);
}

// A stream of 4,000 prompt tokens that made 1,000 in 10 s: the next one is due in 92 s.
class CoreParking : public ::testing::Test {
 protected:
  CoreParking() : CoreParking(SmallFleet()) {}
  explicit CoreParking(const Fleet& fleet) : stepper_(fleet) {
    EXPECT_NE(Only<Forward>(stepper_.Arrive(1, 4'000)), nullptr);
    stepper_.Send(FirstToken{RequestId(1)});
    for (int i = 0; i < 100; ++i) {
      stepper_.Wait(Duration::Milliseconds(100));
      stepper_.Step(10);
    }
  }
  // A second request, which finds no memory.
  std::vector<Action> Crowd() {
    EXPECT_NE(Only<Park>(stepper_.Arrive(2, 5'000)), nullptr);
    stepper_.Wait(Duration::Milliseconds(10));
    return stepper_.Step(1);
  }
  std::vector<Action> Back(int64_t generated) {
    return stepper_.Send(RequestRequeued{RequestId(1), Tokens(generated), false});
  }

  CoreStepper stepper_;
  const Instant arrival_ = Instant::FromSeconds(100);
};

TEST_F(CoreParking, AStreamThatIsFarAheadLendsItsMemoryToAWaitingRequest) {
  const std::vector<Action> crowded = Crowd();
  const Abort* abort = Only<Abort>(crowded);
  ASSERT_NE(abort, nullptr) << Text(crowded);
  EXPECT_EQ(abort->request, RequestId(1));
  const std::vector<Action> back = Back(1'001);
  ASSERT_EQ(back.size(), 2u) << Text(back);
  EXPECT_EQ(std::get<Park>(back[0]).reason, WaitReason::kParked);
  EXPECT_EQ(std::get<Forward>(back[1]).request, RequestId(2));
  const CoreView view = stepper_.core.View(stepper_.now);
  EXPECT_EQ(view.counters.parked, 1);
  EXPECT_EQ(view.lanes[1].parked, 1);
  EXPECT_NEAR(view.pools[0].lent.AsDouble(), 5'000, 20);
  EXPECT_EQ(stepper_.core.WaitOf(RequestId(1))->reason, WaitReason::kParked);
}

TEST_F(CoreParking, ItRunsAgainBeforeItsNextTokenIsDue) {
  Crowd();
  Back(1'001);
  stepper_.Send(FirstToken{RequestId(2)});
  stepper_.Finish(2, 5);
  const Instant due = arrival_ + Duration::Milliseconds(2'000 + 1'001 * 100);
  EXPECT_TRUE(stepper_.RunTimers(due - Duration::Seconds(8)).empty());
  const std::vector<Action> again = stepper_.RunTimers(due - Duration::Seconds(6));
  const Forward* forward = Only<Forward>(again);
  ASSERT_NE(forward, nullptr) << Text(again);
  EXPECT_EQ(forward->request, RequestId(1));
  EXPECT_EQ(stepper_.core.View(stepper_.now).pools[0].lent, Amount(0));
}

TEST_F(CoreParking, AnotherStreamMakesRoomForOneThatIsDueBack) {
  Crowd();
  Back(1'001);
  stepper_.Send(FirstToken{RequestId(2)});
  const Instant due = arrival_ + Duration::Milliseconds(2'000 + 1'001 * 100);
  std::vector<Action> all;
  while (stepper_.now < due && all.empty()) {
    all = stepper_.RunTimers(stepper_.now + Duration::Milliseconds(100));
    if (all.empty()) all = stepper_.Step(5);
  }
  const Abort* abort = Only<Abort>(all);
  ASSERT_NE(abort, nullptr) << Text(all);
  EXPECT_EQ(abort->request, RequestId(2));
  EXPECT_LT(stepper_.now, due);
}

TEST_F(CoreParking, AStreamWhoseAnswerCannotGoOnElsewhereIsLeftAlone) {
  stepper_.Send(AnswerFixed{RequestId(1)});
  EXPECT_TRUE(Crowd().empty());
}

TEST_F(CoreParking, AStreamThatDeclinesIsNotCountedAndWaitsForNoDueTimeIfItsEngineFails) {
  ASSERT_NE(Only<Abort>(Crowd()), nullptr);
  EXPECT_EQ(stepper_.core.View(stepper_.now).counters.parked, 0) << "it may decline yet";
  stepper_.Send(AnswerFixed{RequestId(1)});
  const std::vector<Action> back = Back(1'001);
  ASSERT_FALSE(back.empty());
  EXPECT_EQ(std::get<Park>(back[0]).reason, WaitReason::kBehindOthers) << Text(back);
  const CoreView view = stepper_.core.View(stepper_.now);
  EXPECT_EQ(view.counters.parked, 0);
  EXPECT_EQ(view.lanes[1].parked, 0);
  EXPECT_EQ(view.pools[0].lent, Amount(0));
}

TEST_F(CoreParking, AParkedStreamWhoseClientLeavesLendsNothingMore) {
  Crowd();
  Back(1'001);
  stepper_.Send(RequestClosed{RequestId(1), Outcome::kClientGone, Tokens(0), Tokens(1'001), false});
  const CoreView view = stepper_.core.View(stepper_.now);
  EXPECT_EQ(view.lanes[1].parked, 0);
  EXPECT_EQ(view.pools[0].lent, Amount(0));
}

TEST_F(CoreParking, AnOutageThatEndsBeforeItsTokenIsDueDoesNotMatterToIt) {
  Crowd();
  Back(1'001);
  stepper_.Finish(2, 5);
  stepper_.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  const Instant due = arrival_ + Duration::Milliseconds(2'000 + 1'001 * 100);
  EXPECT_TRUE(stepper_.RunTimers(due - Duration::Seconds(10)).empty());
  EXPECT_TRUE(stepper_.Send(ReplicaHealth{ReplicaId(0), Health::kUp}).empty());
  const std::vector<Action> again = stepper_.RunTimers(due - Duration::Seconds(6));
  const Forward* forward = Only<Forward>(again);
  ASSERT_NE(forward, nullptr) << Text(again);
  EXPECT_EQ(forward->request, RequestId(1));
}

TEST_F(CoreParking, AnOutageThatGoesOnWhenItIsDueBackEndsIt) {
  Crowd();
  Back(1'001);
  stepper_.Finish(2, 5);
  stepper_.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  const Instant due = arrival_ + Duration::Milliseconds(2'000 + 1'001 * 100);
  const std::vector<Action> ended = stepper_.RunTimers(due);
  const Refuse* refuse = Only<Refuse>(ended);
  ASSERT_NE(refuse, nullptr) << Text(ended);
  EXPECT_EQ(refuse->reason, Refusal::kNoReplica);
}

class CoreParkingDrain : public CoreParking {};

TEST_F(CoreParkingDrain, AParkedStreamRunsAgainAtOnce) {
  Crowd();
  Back(1'001);
  stepper_.Send(FirstToken{RequestId(2)});
  stepper_.Finish(2, 5);
  EXPECT_TRUE(stepper_.Send(ShutdownStarted{}).empty());
  const std::vector<Action> actions = stepper_.RunTimers(stepper_.now);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, RequestId(1));
  EXPECT_EQ(stepper_.core.View(stepper_.now).pools[0].lent, Amount(0));
}

TEST_F(CoreParkingDrain, OneThatFindsNoMemoryRunsAsSoonAsItFits) {
  Crowd();
  Back(1'001);
  stepper_.Send(FirstToken{RequestId(2)});
  EXPECT_TRUE(stepper_.Send(ShutdownStarted{}).empty());
  EXPECT_TRUE(stepper_.RunTimers(stepper_.now).empty());
  EXPECT_EQ(stepper_.core.View(stepper_.now).lanes[1].parked, 0);
  const std::vector<Action> actions = stepper_.Finish(2, 5);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, RequestId(1));
}

TEST_F(CoreParkingDrain, NoStreamIsParkedAnyMore) {
  ASSERT_NE(Only<Park>(stepper_.Arrive(2, 5'000)), nullptr);
  stepper_.Send(ShutdownStarted{});
  for (int i = 0; i < 20; ++i) {
    stepper_.Wait(Duration::Milliseconds(10));
    EXPECT_TRUE(stepper_.Step(1).empty());
  }
}

TEST_F(CoreParkingDrain, AStreamThatIsOnItsWayToBeParkedRunsAgainAtOnce) {
  ASSERT_NE(Only<Abort>(Crowd()), nullptr);
  stepper_.Send(ShutdownStarted{});
  const std::vector<Action> back = Back(1'001);
  ASSERT_FALSE(back.empty());
  EXPECT_NE(std::get<Park>(back[0]).reason, WaitReason::kParked) << Text(back);
  EXPECT_EQ(stepper_.core.View(stepper_.now).lanes[1].parked, 0);
}

class CoreWithoutParking : public CoreParking {
 protected:
  static Fleet Forbidding() {
    Fleet fleet = SmallFleet();
    for (ClassSpec& goals : fleet.classes) goals.parking = false;
    return fleet;
  }
  CoreWithoutParking() : CoreParking(Forbidding()) {}
};

TEST_F(CoreWithoutParking, AStreamOfAClassThatForbidsItGoesOn) { EXPECT_TRUE(Crowd().empty()); }

}  // namespace
}  // namespace penstock
