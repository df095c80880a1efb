// The room of early refusals by itself, and what entry and pump make of it.
#include "router/core/admission/early_refusal.h"

#include <functional>

#include "tests/core/admission/admission_fixture.h"

namespace penstock::testing {
namespace {

// One replica of 100,000 tokens; the class has a TTFT goal of 2 s.
class EarlyRefusalTest : public ::testing::Test {
 protected:
  Rooms& rooms() { return test_.rooms; }
  RequestState* Waits(int64_t prompt, ClassId service_class = ClassId(1)) {
    RequestState* request = test_.Waiting(++last_id_, prompt, service_class);
    rooms().early.Waits(request, test_.now);
    return request;
  }
  bool Refuses(const RequestState* request) { return rooms().early.Refuses(*request, test_.now); }
  bool RefusesNew(int64_t prompt, ClassId service_class = ClassId(1)) { return Refuses(Waits(prompt, service_class)); }
  // A request waits until its last chance has passed and is refused then.
  void OneWasLate(int64_t prompt) {
    RequestState* request = Waits(prompt);
    test_.now = rooms().lateness.NextCheck(*request, test_.now);
    rooms().early.WasLate(*request, test_.now);
    rooms().waiting.lane(ModelId(0)).late.Refused(test_.now);
    rooms().StopWaiting(request, test_.now);
  }
  // So many requests leave the lane for an engine, at even distances within the time.
  void Dispatch(int count, int64_t prompt, double seconds) {
    for (int i = 0; i < count; ++i) {
      test_.Wait(Duration::Seconds(seconds / count));
      RequestState* request = test_.New(++last_id_, prompt);
      rooms().waiting.lane(ModelId(0)).Dispatched(*request, test_.now);
      rooms().early.Dispatched(*request, test_.now);
    }
  }

  uint64_t last_id_ = 0;
  TestRooms test_;
};

TEST_F(EarlyRefusalTest, WithoutARequestThatWasLateNoneIsRefused) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, ARequestLikeOneThatWasLateIsRefusedAtOnce) {
  OneWasLate(500);
  EXPECT_FALSE(RefusesNew(300)) << "smaller: it may fit where the other did not";
  RequestState* ahead = Waits(500);
  ahead->waiting.place = ahead->waiting.place - Duration::Seconds(1);
  EXPECT_FALSE(Refuses(ahead)) << "further ahead in the order";
  EXPECT_FALSE(RefusesNew(500, ClassId(0))) << "of another class";
  EXPECT_TRUE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, AnExampleIsGoodForThreeRefusals) {
  OneWasLate(500);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(RefusesNew(500));
  EXPECT_FALSE(RefusesNew(500));
  OneWasLate(500);
  EXPECT_TRUE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, AnExampleIsForgottenAfterTwoGoals) {
  OneWasLate(500);
  test_.Wait(Duration::Milliseconds(3999));
  EXPECT_TRUE(RefusesNew(500));
  test_.Wait(Duration::Milliseconds(2));
  EXPECT_FALSE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, OneLateRequestAmongManyServedRefusesNobody) {
  Dispatch(40, 500, 0.4);
  OneWasLate(500);
  EXPECT_FALSE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, EnoughOthersMustWaitToUseTheRoomThatComes) {
  for (int i = 0; i < 3; ++i) OneWasLate(500);
  Waits(500);
  Dispatch(20, 500, 4);
  OneWasLate(500);
  // Half of the goal is a second, in which three to five requests leave.
  EXPECT_FALSE(RefusesNew(500));
  for (int i = 0; i < 4; ++i) Waits(500);
  EXPECT_TRUE(RefusesNew(500));
}

TEST_F(EarlyRefusalTest, SmallerRequestsThatWaitAreNoReserve) {
  for (int i = 0; i < 3; ++i) OneWasLate(4000);
  Waits(4000);
  Dispatch(20, 4000, 4);
  for (int i = 0; i < 200; ++i) rooms().early.Dispatched(*test_.New(++last_id_, 100), test_.now);
  for (int i = 0; i < 6; ++i) Waits(100);
  OneWasLate(4000);
  EXPECT_FALSE(RefusesNew(4000));
  for (int i = 0; i < 4; ++i) Waits(4000);
  EXPECT_TRUE(RefusesNew(4000));
}

TEST_F(EarlyRefusalTest, WhoStandsBehindTooManyNeedsNoExample) {
  for (int i = 0; i < 2; ++i) rooms().waiting.lane(ModelId(0)).late.Refused(test_.now);
  Waits(500);
  Dispatch(20, 500, 2);
  // Ten in a second. Those that come now can wait two seconds.
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(RefusesNew(500)) << i;
  for (int i = 0; i < 10; ++i) Waits(500);
  EXPECT_TRUE(RefusesNew(500));
  RequestState* first = Waits(500);
  first->waiting.place = test_.now;
  EXPECT_FALSE(Refuses(first)) << "it stands before most of them";
}

TEST_F(EarlyRefusalTest, AQueueThatALargePromptHoldsUpIsNoOverload) {
  RequestState* large = Waits(60'000);
  Dispatch(2, 500, 2);
  // The small requests leave at once when the large one has its room, though one in a second left before.
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(RefusesNew(500)) << i;
  EXPECT_FALSE(Refuses(large));
  rooms().waiting.lane(ModelId(0)).late.Refused(test_.now);
  EXPECT_TRUE(RefusesNew(500)) << "one in thirteen was late";
}

TEST_F(EarlyRefusalTest, WhoIsNeverLateIsNeverRefusedEarly) {
  for (int i = 0; i < 4; ++i) OneWasLate(500);
  const auto exempt = [this](const std::function<void(RequestState&)>& change) {
    RequestState* request = Waits(500);
    change(*request);
    return !Refuses(request);
  };
  EXPECT_TRUE(exempt([](RequestState& request) { request.waiting.best_effort = true; }));
  EXPECT_TRUE(exempt([](RequestState& request) { request.waiting.committed = true; }));
  EXPECT_TRUE(exempt([](RequestState& request) { request.waiting.begun = true; }));
  EXPECT_TRUE(exempt([](RequestState& request) { request.waiting.reservation.replica = ReplicaId(0); }));
  EXPECT_TRUE(exempt([](RequestState& request) { request.kept = Tokens(1); }));
  EXPECT_FALSE(exempt([](RequestState&) {}));
}

TEST_F(EarlyRefusalTest, AWaitingRequestIsLookedAtInTheFirstQuarterOfItsGoalOnly) {
  RequestState* request = Waits(500);
  const Instant arrival = test_.now;
  EXPECT_EQ(rooms().early.NextCheck(*request, test_.now), arrival + Duration::Milliseconds(200));
  test_.Wait(Duration::Milliseconds(200));
  EXPECT_EQ(rooms().early.NextCheckAfter(*request, test_.now), arrival + Duration::Milliseconds(400));
  test_.Wait(Duration::Milliseconds(200));
  EXPECT_EQ(rooms().early.NextCheckAfter(*request, test_.now), rooms().lateness.NextCheck(*request, test_.now));
  OneWasLate(500);
  EXPECT_FALSE(Refuses(request)) << "it has waited too long for an early word";
}

TEST(EarlyRefusalRule, WithoutTheRuleNobodyIsRefusedEarly) {
  CoreRules rules;
  rules.early_refusal = false;
  TestRooms test(FleetOptions{}, std::move(rules));
  RequestState* late = test.Waiting(1, 500);
  test.rooms.early.WasLate(*late, test.now);
  test.rooms.waiting.lane(ModelId(0)).late.Refused(test.now);
  RequestState* request = test.Waiting(2, 500);
  EXPECT_FALSE(test.rooms.early.Refuses(*request, test.now));
  EXPECT_EQ(test.rooms.early.NextCheck(*request, test.now), test.rooms.lateness.NextCheck(*request, test.now));
}

// A request of 600 runs in a pool of 1000 for ever; requests of 600 have deadlines.
class EarlyVerdictTest : public AdmissionTest {
 protected:
  void BeginFull() {
    FleetOptions options;
    options.pool_tokens = 1000;
    Begin(options);
    test_.Decoding(100, 600);
  }
  void OneIsLate() {
    ASSERT_NE(Only<Park>(Admit(1, 600)), nullptr);
    test_.now = test_.rooms.lateness.NextCheck(*Find(1), test_.now);
    const std::vector<Action> actions = RefuseLate();
    ASSERT_NE(Only<Refuse>(actions), nullptr) << Text(actions);
    EXPECT_FALSE(Only<Refuse>(actions)->early);
  }
};

TEST_F(EarlyVerdictTest, AnArrivalIsRefusedInItsOwnEventAndForgotten) {
  BeginFull();
  OneIsLate();
  const std::vector<Action> actions = Admit(2, 620);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kDeadlineUnreachable);
  EXPECT_TRUE(refuse->early);
  EXPECT_GE(refuse->retry_after, Duration::Seconds(1));
  EXPECT_EQ(Find(2), nullptr);
  EXPECT_TRUE(test_.rooms.waiting.lane(kChat).empty());
}

TEST_F(EarlyVerdictTest, ARequestThatWaitsIsRefusedAtItsNextLook) {
  BeginFull();
  ASSERT_NE(Only<Park>(Admit(1, 600)), nullptr);
  const Instant late = test_.rooms.lateness.NextCheck(*Find(1), test_.now);
  test_.now = late - Duration::Milliseconds(100);
  ASSERT_NE(Only<Park>(Admit(2, 620)), nullptr);
  test_.now = late;
  ASSERT_NE(Only<Refuse>(RefuseLate()), nullptr);
  test_.now = late + Duration::Milliseconds(100);
  const std::vector<Action> actions = RefuseLate();
  ASSERT_NE(Only<Refuse>(actions), nullptr) << Text(actions);
  EXPECT_TRUE(Only<Refuse>(actions)->early);
  EXPECT_EQ(Find(2), nullptr);
}

TEST_F(EarlyVerdictTest, AnArrivalThatFitsIsForwardedWhateverWasLate) {
  BeginFull();
  OneIsLate();
  RequestArrived small;
  small.request = RequestId(3);
  small.service_class = ClassId(1);
  small.prompt = Tokens(20);
  small.max_output = Tokens(10);
  std::vector<Action> actions;
  entry_.Admit(small, test_.now, actions);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

}  // namespace
}  // namespace penstock::testing
