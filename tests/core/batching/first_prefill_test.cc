#include "router/core/batching/first_prefill.h"

#include <gtest/gtest.h>

#include "tests/core/core_test_support.h"
#include "tests/core/rooms_for_test.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::TestRooms;
using testing::Text;

constexpr int64_t kDocument = 16 * kPrefixBlock.value();

Fleet Replicas(int count) {
  FleetOptions options;
  options.replicas = count;
  Fleet fleet = MakeFleet(options);
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.prefix_cache = Tokens(100'000);
    replica.shares_prompts = true;
  }
  return fleet;
}

// A question of `own` tokens over one document; a first token takes 0.42 s of an idle replica.
RequestArrived Question(uint64_t id, int64_t own = 100, uint64_t document = 1000) {
  RequestArrived event;
  event.request = RequestId(id);
  event.service_class = ClassId(1);
  event.prompt = Tokens(kDocument + own);
  for (uint64_t block = 0; block < 16; ++block) event.prefix.push_back(document + block);
  return event;
}

TEST(FirstPrefill, ARequestWaitsForThePromptThatItSharesAndGoesWhereItIs) {
  CoreStepper stepper(Replicas(2));
  const std::vector<Action> first = stepper.Send(Question(1));
  ASSERT_NE(Only<Forward>(first), nullptr) << Text(first);
  const ReplicaId where = Only<Forward>(first)->replica;
  const std::vector<Action> second = stepper.Send(Question(2));
  ASSERT_NE(Only<Park>(second), nullptr) << Text(second);
  EXPECT_EQ(Only<Park>(second)->reason, WaitReason::kFirstPrefill);
  stepper.Wait(Duration::Milliseconds(420));
  const std::vector<Action> opened = stepper.Send(FirstToken{RequestId(1)});
  ASSERT_NE(Only<Forward>(opened), nullptr) << Text(opened);
  EXPECT_EQ(Only<Forward>(opened)->replica, where);
}

TEST(FirstPrefill, ARequestThatWaitsByChoiceHoldsNoOtherTenantBack) {
  Fleet fleet = Replicas(2);
  fleet.fairness.mode = FairnessMode::kWeighted;
  CoreStepper stepper(fleet);
  ASSERT_EQ(Only<Forward>(stepper.Send(Question(1)))->replica, ReplicaId(0));
  ASSERT_NE(Only<Park>(stepper.Send(Question(2))), nullptr);
  const auto arrive = [&](uint64_t id) {
    RequestArrived other = Question(id, 100, id * 10'000);
    other.tenant = TenantId(7);
    return stepper.Send(other);
  };
  ASSERT_NE(Only<Forward>(arrive(3)), nullptr);
  ASSERT_NE(Only<Park>(arrive(4)), nullptr);
  uint64_t there = 3;
  for (uint64_t id = 5; id <= 40; ++id) {
    ASSERT_NE(Only<Park>(arrive(id)), nullptr);
    stepper.Finish(there, 5);
    stepper.RunTimers(stepper.now);
    ASSERT_EQ(stepper.core.View(stepper.now).queued_requests, 2) << "the idle replica takes request " << id - 1;
    there = id - 1;
  }
}

TEST(FirstPrefill, ARequestWithAnotherPromptDoesNotWait) {
  CoreStepper stepper(Replicas(2));
  const std::vector<Action> first = stepper.Send(Question(1));
  const std::vector<Action> second = stepper.Send(Question(2, 100, 5000));
  ASSERT_NE(Only<Forward>(second), nullptr) << Text(second);
  EXPECT_NE(Only<Forward>(second)->replica, Only<Forward>(first)->replica);
}

TEST(FirstPrefill, ARequestThatCouldBeLateComputesThePromptItself) {
  CoreStepper stepper(Replicas(2));
  stepper.Send(Question(1));
  RequestArrived urgent = Question(2);
  urgent.prompt = Tokens(kDocument + 9'000);  // Behind the first prompt it would take 0.9 s of its second.
  urgent.service_class = ClassId(0);
  EXPECT_NE(Only<Forward>(stepper.Send(urgent)), nullptr);
}

TEST(FirstPrefill, InALargeFleetThoseThatWaitLeaveTheEventsToOthers) {
  CoreStepper stepper(Replicas(64));
  for (uint64_t id = 1; id <= 30; ++id) stepper.Send(Question(id));
  stepper.Wait(Duration::Milliseconds(1));
  int events = 0;
  for (; events < 200 && stepper.core.NextDeadline() <= stepper.now; ++events) stepper.Send(TimerFired{});
  EXPECT_LT(events, 200) << "work is due at once for ever";
}

TEST(FirstPrefill, InALargeFleetARequestGoesToItsReplicaOnceThatOpens) {
  CoreStepper stepper(Replicas(64));
  const std::vector<Action> first = stepper.Send(Question(1));
  const ReplicaId where = Only<Forward>(first)->replica;
  ASSERT_NE(Only<Park>(stepper.Send(Question(2))), nullptr);
  const ReplicaId other(where.value() == 0 ? 1 : 0);
  stepper.Wait(Duration::Milliseconds(20));
  const std::vector<Action> elsewhere = stepper.Send(Progress{{{other, 1, stepper.now}}, {}});
  EXPECT_EQ(Only<Forward>(elsewhere), nullptr) << Text(elsewhere);
  stepper.Wait(Duration::Milliseconds(400));
  const std::vector<Action> opened = stepper.Send(FirstToken{RequestId(1)});
  ASSERT_NE(Only<Forward>(opened), nullptr) << Text(opened);
  EXPECT_EQ(Only<Forward>(opened)->replica, where);
}

TEST(FirstPrefill, InALargeFleetAWaitThatIsWorthNoMoreEndsWhenItsReplicaOpens) {
  TestRooms test(Replicas(64));
  FirstPrefill& first_prefill = test.rooms.placement.first_prefill;
  test.Start(test.New(Question(1)), 5);
  RequestState* request = test.New(Question(2));
  request->waiting.tries.everywhere = true;
  Choice left;
  left.replica = 0;
  left.expected_ttft = 0.42;
  ASSERT_TRUE(first_prefill.Waits(request, left, test.now));
  EXPECT_TRUE(first_prefill.WaitsOn(*request));
  test.rooms.work.Open(test.Replica(5));
  EXPECT_FALSE(first_prefill.WaitsOn(*request));
  EXPECT_FALSE(first_prefill.EndWhereVain(request, test.now)) << "nothing has changed";
  test.Wait(Duration::Seconds(10));
  EXPECT_TRUE(first_prefill.EndWhereVain(request, test.now)) << "it would be late";
  EXPECT_FALSE(request->waiting.company.replica.has_value());
  EXPECT_FALSE(request->waiting.tries.everywhere);
}

TEST(FirstPrefill, AWaitThatBringsNothingEnds) {
  CoreStepper stepper(Replicas(2));
  stepper.Send(Question(1));
  ASSERT_NE(Only<Park>(stepper.Send(Question(2))), nullptr);
  // The engine stands still: the first token does not come.
  const std::vector<Action> later = stepper.RunTimers(stepper.now + Duration::Milliseconds(1'900));
  ASSERT_NE(Only<Forward>(later), nullptr) << Text(later);
  EXPECT_EQ(Only<Forward>(later)->request, RequestId(2));
}

TEST(FirstPrefill, ARequestWhoseReplicaIsLostGoesElsewhereAtOnce) {
  CoreStepper stepper(Replicas(2));
  const std::vector<Action> first = stepper.Send(Question(1));
  const ReplicaId where = Only<Forward>(first)->replica;
  ASSERT_NE(Only<Park>(stepper.Send(Question(2))), nullptr);
  const std::vector<Action> lost = stepper.Send(ReplicaHealth{where, Health::kDown});
  ASSERT_NE(Only<Forward>(lost), nullptr) << Text(lost);
  EXPECT_NE(Only<Forward>(lost)->replica, where);
}

TEST(FirstPrefill, ABurstSpreadsOnceTheQueueForOneCopyTakesLongerThanAnother) {
  CoreStepper stepper(Replicas(2));
  ASSERT_NE(Only<Forward>(stepper.Send(Question(1))), nullptr);
  bool elsewhere = false;
  for (uint64_t id = 2; id <= 12 && !elsewhere; ++id) {
    elsewhere = Only<Forward>(stepper.Send(Question(id, 4'000))) != nullptr;
  }
  EXPECT_TRUE(elsewhere);
}

TEST(FirstPrefill, AClientThatLeavesWhileItWaitsLeavesNoWorkBehind) {
  CoreStepper stepper(Replicas(2));
  stepper.Send(Question(1));
  for (uint64_t round = 0; round < 40; ++round) {
    ASSERT_NE(Only<Park>(stepper.Send(Question(2 + round, 1'500))), nullptr) << round;
    stepper.Send(RequestClosed{RequestId(2 + round), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  }
}

TEST(FirstPrefill, WithoutTheRuleThePromptIsComputedTwice) {
  CoreRules rules;
  rules.first_prefill = false;
  PenstockCore core(std::move(rules));
  std::vector<Action> actions;
  const Fleet fleet = Replicas(2);
  const Instant now = Instant::FromSeconds(1);
  core.Apply(FleetChanged{fleet}, now, actions);
  for (uint32_t i = 0; i < 2; ++i) core.Apply(ReplicaHealth{ReplicaId(i), Health::kUp}, now, actions);
  core.Apply(Question(1), now, actions);
  actions.clear();
  core.Apply(Question(2), now, actions);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

}  // namespace
}  // namespace penstock
