#include "router/core/penstock_core.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/core_test_support.h"

namespace penstock {
namespace {

using testing::CoreStepper;
using testing::FleetOptions;
using testing::MakeFleet;
using testing::Only;
using testing::Text;

TEST(PenstockCore, AFirstRequestIsForwardedAtOnce) {
  CoreStepper stepper(MakeFleet({}));
  const std::vector<Action> actions = stepper.Arrive(1, 500);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, RequestId(1));
  EXPECT_EQ(forward->waited, Duration());
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].held, Amount(500));
}

TEST(PenstockCore, PromisesAreExactlyZeroWhenNothingRuns) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Arrive(1, 500);
  stepper.Arrive(2, 700);
  EXPECT_GT(stepper.core.View(stepper.now).pools[0].promised, Amount(1200));
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Finish(1, 20);
  stepper.Send(RequestClosed{RequestId(2), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].promised, Amount(0));
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].held, Amount(0));
}

TEST(PenstockCore, ARequestThatDoesNotFitIsParkedAndForwardedWhenMemoryIsBack) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 600)), nullptr);
  const std::vector<Action> parked = stepper.Arrive(2, 600);
  const Park* park = Only<Park>(parked);
  ASSERT_NE(park, nullptr) << Text(parked);
  EXPECT_EQ(park->reason, WaitReason::kMemory);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(50));
  const std::vector<Action> freed = stepper.Finish(1, 10);
  const Forward* forward = Only<Forward>(freed);
  ASSERT_NE(forward, nullptr) << Text(freed);
  EXPECT_EQ(forward->request, RequestId(2));
  EXPECT_EQ(forward->waited, Duration::Milliseconds(50));
}

TEST(PenstockCore, ASmallRequestGoesPastALargeOneThatDoesNotFit) {
  FleetOptions options;
  options.pool_tokens = 4000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1500)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 3500)), nullptr);
  const std::vector<Action> small = stepper.Arrive(3, 50);
  ASSERT_NE(Only<Forward>(small), nullptr) << Text(small);
}

TEST(PenstockCore, ALoneRequestEntersAnEmptyPoolWhateverItsForecast) {
  FleetOptions options;
  options.pool_tokens = 600;
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> actions = stepper.Arrive(1, 599);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, APromptLargerThanEveryPoolIsRefusedWithTheBound) {
  FleetOptions options;
  options.pool_tokens = 600;
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> actions = stepper.Arrive(1, 700);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kNeverFits);
  EXPECT_EQ(refuse->bound, 600);
  EXPECT_EQ(refuse->value, 700);
}

TEST(PenstockCore, APromptOverTheContextIsRefusedWithTheBound) {
  CoreStepper stepper(MakeFleet({}));
  const std::vector<Action> actions = stepper.Arrive(1, 60'000);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kContextExceeded);
  EXPECT_EQ(refuse->bound, 50'000);
}

TEST(PenstockCore, AnUncertainPromptNearTheContextIsLeftToTheEngine) {
  CoreStepper stepper(MakeFleet({}));
  RequestArrived event;
  event.request = RequestId(1);
  event.priority = ClassId(2);
  event.prompt = Tokens(51'000);
  event.prompt_sigma = 0.05;
  const std::vector<Action> actions = stepper.Send(event);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, AParkedRequestIsRefusedWhenItsFirstTokenCanNoLongerComeInTime) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  stepper.Send(FirstToken{RequestId(1)});
  const Instant arrival = stepper.now;
  const std::vector<Action> early = stepper.RunTimers(arrival + Duration::Milliseconds(1900));
  EXPECT_TRUE(early.empty()) << Text(early);
  const std::vector<Action> late = stepper.RunTimers(arrival + Duration::Milliseconds(2000));
  const Refuse* refuse = Only<Refuse>(late);
  ASSERT_NE(refuse, nullptr) << Text(late);
  EXPECT_EQ(refuse->reason, Refusal::kDeadlineUnreachable);
  EXPECT_GE(refuse->retry_after, Duration::Seconds(1));
  EXPECT_LE(refuse->retry_after, Duration::Seconds(60));
}

TEST(PenstockCore, WithoutEnforcedGoalsARequestWaitsForItsWholeQueueTime) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  const Instant arrival = stepper.now;
  EXPECT_TRUE(stepper.RunTimers(arrival + Duration::Seconds(29)).empty());
  const std::vector<Action> late = stepper.RunTimers(arrival + Duration::Seconds(31));
  const Refuse* refuse = Only<Refuse>(late);
  ASSERT_NE(refuse, nullptr) << Text(late);
  EXPECT_EQ(refuse->reason, Refusal::kQueueTimeout);
}

TEST(PenstockCore, APromptTooLongForItsGoalOnAnIdleFleetIsServedBestEffort) {
  CoreStepper stepper(MakeFleet({}));
  // 45,000 tokens at 0.05 ms take 2.25 s of the 2 s goal.
  stepper.Arrive(1, 100);
  const std::vector<Action> arrived = stepper.Arrive(2, 45'000);
  for (const Action& action : arrived) EXPECT_EQ(std::get_if<Refuse>(&action), nullptr) << Text(arrived);
  const std::vector<Action> later = stepper.RunTimers(stepper.now + Duration::Seconds(20));
  EXPECT_TRUE(later.empty()) << Text(later);
}

TEST(PenstockCore, TheRunwayToAnEngineIsKeptShort) {
  FleetOptions options;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  // Two budgets of 2048 are on their way with the third request of 1500; the fourth waits.
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_NE(Only<Forward>(stepper.Arrive(id, 1500)), nullptr);
  const std::vector<Action> fourth = stepper.Arrive(4, 1500);
  const Park* park = Only<Park>(fourth);
  ASSERT_NE(park, nullptr) << Text(fourth);
  EXPECT_EQ(park->reason, WaitReason::kRunway);
  stepper.Wait(Duration::Milliseconds(100));
  const std::vector<Action> opened = stepper.Send(FirstToken{RequestId(2)});
  EXPECT_NE(Only<Forward>(opened), nullptr) << Text(opened);
}

TEST(PenstockCore, RunningStreamsThatWouldMissTheirTokensHoldBackAPrompt) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Arrive(1, 100);
  stepper.Wait(Duration::Milliseconds(1900));
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(10));
  stepper.Step(1);
  // The next token is due within 190 ms, one goal of margin included; beside a prompt of 20,000 tokens ten steps would
  // take 1.1 s instead of the second that ten tokens have.
  const std::vector<Action> long_prompt = stepper.Arrive(2, 20'000);
  const Park* park = Only<Park>(long_prompt);
  ASSERT_NE(park, nullptr) << Text(long_prompt);
  EXPECT_EQ(park->reason, WaitReason::kRunningStreams);
  const std::vector<Action> short_prompt = stepper.Arrive(3, 200);
  EXPECT_NE(Only<Forward>(short_prompt), nullptr) << Text(short_prompt);
}

TEST(PenstockCore, AStreamThatIsLateAlreadyBlocksNobody) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Arrive(1, 100);
  stepper.Wait(Duration::Milliseconds(2500));
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(10));
  stepper.Step(1);
  const std::vector<Action> actions = stepper.Arrive(2, 6000);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, RequestsSpreadByTheLowestResultingPeakShare) {
  FleetOptions options;
  options.replicas = 2;
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> first = stepper.Arrive(1, 2000);
  const std::vector<Action> second = stepper.Arrive(2, 100);
  ASSERT_NE(Only<Forward>(first), nullptr);
  ASSERT_NE(Only<Forward>(second), nullptr);
  EXPECT_NE(Only<Forward>(first)->replica, Only<Forward>(second)->replica);
}

TEST(PenstockCore, AFullPoolDoesNotBlockTheLaneOfAnotherModel) {
  FleetOptions options;
  options.replicas = 2;
  options.pool_tokens = 1000;
  Fleet fleet = MakeFleet(options);
  fleet.models.push_back({"code"});
  fleet.replicas[1].models = {ModelId(1)};
  CoreStepper stepper(fleet);
  stepper.Arrive(1, 900);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 900)), nullptr);
  RequestArrived other;
  other.request = RequestId(3);
  other.model = ModelId(1);
  other.priority = ClassId(1);
  other.prompt = Tokens(900);
  const std::vector<Action> actions = stepper.Send(other);
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, InteractiveRequestsGoBeforeBackgroundOnes) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Arrive(2, 600, ClassId(2));
  stepper.Arrive(3, 600, ClassId(0));
  const std::vector<Action> actions = stepper.Finish(1, 5);
  const Forward* forward = Only<Forward>(actions);
  ASSERT_NE(forward, nullptr) << Text(actions);
  EXPECT_EQ(forward->request, RequestId(3));
}

TEST(PenstockCore, BackgroundRequestsKeepAGuaranteedShareUnderInteractiveLoad) {
  FleetOptions options;
  options.max_sequences = 1;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 100, ClassId(0));
  stepper.Arrive(2, 100, ClassId(2));
  uint64_t running = 1;
  uint64_t next = 3;
  bool served = false;
  for (int round = 0; round < 60 && !served; ++round) {
    stepper.Arrive(next++, 100, ClassId(0));
    stepper.Send(FirstToken{RequestId(running)});
    const std::vector<Action> actions = stepper.Finish(running, 5);
    const Forward* forward = Only<Forward>(actions);
    ASSERT_NE(forward, nullptr) << Text(actions);
    running = forward->request.value();
    served = running == 2;
  }
  EXPECT_TRUE(served);
}

TEST(PenstockCore, AReplicaThatIsDownGetsNothingAndItsModelIsRefusedWith503) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  stepper.Wait(Duration::Seconds(6));
  const std::vector<Action> actions = stepper.Arrive(1, 100);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kNoReplica);
  EXPECT_EQ(TraitsOf(refuse->reason).status, 503);
}

TEST(PenstockCore, RequestsWaitAMomentForAReplicaThatJustWentDown) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  ASSERT_NE(Only<Park>(stepper.Arrive(1, 100, ClassId(1))), nullptr);
  stepper.Wait(Duration::Milliseconds(500));
  const std::vector<Action> actions = stepper.Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, AProbingReplicaGetsOneRequestAtATime) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kProbing});
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 100)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 100)), nullptr);
  stepper.Send(FirstToken{RequestId(1)});
  EXPECT_NE(Only<Forward>(stepper.Send(ReplicaHealth{ReplicaId(0), Health::kUp})), nullptr);
}

TEST(PenstockCore, AReturnedRequestTriesEveryReplicaBeforeOneThatFailedIt) {
  CoreStepper stepper(MakeFleet({.replicas = 4}));
  std::vector<ReplicaId> tried;
  const std::vector<Action> first = stepper.Arrive(1, 100);
  ASSERT_NE(Only<Forward>(first), nullptr);
  tried.push_back(Only<Forward>(first)->replica);
  for (int i = 0; i < 4; ++i) {
    const std::vector<Action> again = stepper.Send(RequestReturned{RequestId(1), Tokens(0), true, Duration()});
    ASSERT_EQ(again.size(), 2u) << Text(again);
    ASSERT_NE(std::get_if<Forward>(&again[1]), nullptr) << Text(again);
    tried.push_back(std::get_if<Forward>(&again[1])->replica);
  }
  std::sort(tried.begin(), tried.begin() + 4);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(tried[i], ReplicaId(i));
}

// Its class's queue time is for waiting, not for what an engine had begun.
TEST(PenstockCore, AnAnswerThatHadBegunWaitsItsQueueTimeAnewWhenItsEngineDies) {
  for (const int64_t kept : {0, 5}) {
    CoreStepper stepper(MakeFleet({.replicas = 2, .max_sequences = 1}));
    ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1000)), nullptr);
    ASSERT_NE(Only<Forward>(stepper.Arrive(2, 1000)), nullptr);
    stepper.Send(FirstToken{RequestId(1)});
    stepper.Wait(Duration::Seconds(100));
    stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
    const auto* parked = Only<Park>(stepper.Send(RequestReturned{RequestId(1), Tokens(kept), true, Duration()}));
    ASSERT_NE(parked, nullptr) << kept;
    EXPECT_TRUE(stepper.RunTimers(stepper.now + Duration::Seconds(29)).empty()) << kept;
    const std::vector<Action> refused = stepper.RunTimers(stepper.now + Duration::Seconds(2));
    ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
    EXPECT_EQ(Only<Refuse>(refused)->reason, Refusal::kQueueTimeout);
  }
}

TEST(PenstockCore, AnAnswerThatHadNotBegunKeepsItsFirstQueueTime) {
  CoreStepper stepper(MakeFleet({.replicas = 2, .enforce_goals = false, .max_sequences = 1}));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1000)), nullptr);
  ASSERT_NE(Only<Forward>(stepper.Arrive(2, 1000)), nullptr);
  stepper.Wait(Duration::Seconds(20));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  stepper.Send(RequestReturned{RequestId(1), Tokens(0), true, Duration()});
  const std::vector<Action> refused = stepper.RunTimers(stepper.now + Duration::Seconds(11));
  ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
}

TEST(PenstockCore, AReturnedRequestIsPlacedOnAnotherReplica) {
  FleetOptions options;
  options.replicas = 2;
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> first = stepper.Arrive(1, 100);
  ASSERT_NE(Only<Forward>(first), nullptr);
  const ReplicaId failed = Only<Forward>(first)->replica;
  const std::vector<Action> again = stepper.Send(RequestReturned{RequestId(1), Tokens(0), true, Duration()});
  ASSERT_EQ(again.size(), 2u) << Text(again);
  const Forward* forward = std::get_if<Forward>(&again[1]);
  ASSERT_NE(forward, nullptr) << Text(again);
  EXPECT_NE(forward->replica, failed);
}

TEST(PenstockCore, MemoryOfAnAbortedRequestCountsUntilItsHoldIsOver) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.replicas[0].abort_hold = Duration::Seconds(2);
  CoreStepper stepper(fleet);
  stepper.Arrive(1, 600);
  stepper.Send(RequestClosed{RequestId(1), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].promised, Amount(0));
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].draining, Amount(600));
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 600)), nullptr);
  const std::vector<Action> freed = stepper.RunTimers(stepper.now + Duration::Seconds(2));
  EXPECT_NE(Only<Forward>(freed), nullptr) << Text(freed);
}

TEST(PenstockCore, AFatalPoolIsRelievedByAbortingTheLeastCostlyRequestNeverTheOldest) {
  FleetOptions options;
  options.pool_tokens = 2000;
  options.fatal = true;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  for (uint64_t id = 1; id <= 2; ++id) {
    ASSERT_NE(Only<Forward>(stepper.Arrive(id, 300)), nullptr) << id;
    stepper.Send(FirstToken{RequestId(id)});
  }
  std::vector<Action> actions;
  for (int i = 0; i < 200 && actions.empty(); ++i) {
    stepper.Wait(Duration::Milliseconds(100));
    actions = stepper.Step(10);
  }
  const Abort* abort = Only<Abort>(actions);
  ASSERT_NE(abort, nullptr) << Text(actions);
  EXPECT_EQ(abort->request, RequestId(2));
  const PoolView pool = stepper.core.View(stepper.now).pools[0];
  EXPECT_LT(pool.held + pool.draining, pool.capacity);
  const std::vector<Action> returned = stepper.Send(RequestReturned{RequestId(2), Tokens(0), false, Duration()});
  ASSERT_NE(Only<Park>(returned), nullptr) << Text(returned);
  const std::vector<Action> freed = stepper.Finish(1, 1000);
  EXPECT_NE(Only<Forward>(freed), nullptr) << Text(freed);
}

TEST(PenstockCore, RequestsThatCannotBeRegeneratedAreCountedAtTheirBoundInAFatalPool) {
  FleetOptions options;
  options.pool_tokens = 2000;
  options.fatal = true;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  RequestArrived event;
  event.priority = ClassId(1);
  event.prompt = Tokens(300);
  event.max_output = Tokens(900);
  event.regenerable = false;
  event.request = RequestId(1);
  ASSERT_NE(Only<Forward>(stepper.Send(event)), nullptr);
  event.request = RequestId(2);
  EXPECT_NE(Only<Park>(stepper.Send(event)), nullptr);
}

TEST(PenstockCore, ForeignUseLowersWhatIsFree) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  EngineReport report;
  report.replica = ReplicaId(0);
  report.sampled_at = stepper.now;
  report.kv_used_share = 0.8;
  report.running = 3;
  report.waiting = 0;
  stepper.Send(report);
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].foreign, Amount(800));
  stepper.Arrive(1, 100);
  EXPECT_NE(Only<Park>(stepper.Arrive(2, 150)), nullptr);
}

TEST(PenstockCore, AnEngineThatUsesMoreThanItsLeasesIsAnOverdraftAndCounted) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Arrive(1, 1000);
  EngineReport report;
  report.replica = ReplicaId(0);
  report.sampled_at = stepper.now;
  report.kv_used_share = 0.1;
  report.running = 1;
  report.waiting = 0;
  stepper.Send(report);
  const PoolView pool = stepper.core.View(stepper.now).pools[0];
  EXPECT_EQ(pool.overdrafts, 1);
  EXPECT_GT(pool.overdraft, Amount(0));
  EXPECT_EQ(pool.foreign, Amount(0));
}

TEST(PenstockCore, PreemptionsRaiseTheRiskAndCalmLowersIt) {
  CoreStepper stepper(MakeFleet({}));
  EngineReport report;
  report.replica = ReplicaId(0);
  report.preemptions = 0;
  stepper.Send(report);
  report.preemptions = 10;
  stepper.Send(report);
  stepper.Wait(Duration::Seconds(1));
  stepper.Send(TimerFired{});
  EXPECT_NEAR(stepper.core.View(stepper.now).pools[0].z, RiskControl().z() + 0.2, 1e-9);
}

TEST(PenstockCore, AFullQueueRefusesTheNewcomer) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.limits.max_queued_requests = 2;
  CoreStepper stepper(fleet);
  stepper.Arrive(1, 900);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 900)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(3, 900)), nullptr);
  const std::vector<Action> actions = stepper.Arrive(4, 900);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kQueueFull);
  EXPECT_EQ(refuse->bound, 2);
}

TEST(PenstockCore, TheBytesOfTheQueueAreBoundedOnBothSides) {
  FleetOptions options;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  Fleet fleet = MakeFleet(options);
  fleet.limits.max_queued_bytes = Bytes(300);
  CoreStepper stepper(fleet);
  const auto arrive = [&](uint64_t id, int64_t bytes) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.priority = ClassId(1);
    arrived.prompt = Tokens(900);
    arrived.body = Bytes(bytes);
    return stepper.Send(arrived);
  };
  arrive(1, 500);
  ASSERT_NE(Only<Park>(arrive(2, 100)), nullptr);
  ASSERT_NE(Only<Park>(arrive(3, 200)), nullptr);
  const std::vector<Action> actions = arrive(4, 1);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kQueueFull);
}

TEST(PenstockCore, AfterShutdownArrivalsAreRefusedAndWaitingOnesServed) {
  FleetOptions options;
  options.pool_tokens = 1000;
  CoreStepper stepper(MakeFleet(options));
  stepper.Arrive(1, 600);
  stepper.Arrive(2, 600);
  stepper.Send(ShutdownStarted{});
  const std::vector<Action> refused = stepper.Arrive(3, 10);
  ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
  EXPECT_EQ(Only<Refuse>(refused)->reason, Refusal::kShuttingDown);
  stepper.Send(FirstToken{RequestId(1)});
  EXPECT_NE(Only<Forward>(stepper.Finish(1, 5)), nullptr);
}

TEST(PenstockCore, ElasticPoolsSumAllReplicasOfTheGpu) {
  FleetOptions options;
  options.replicas = 2;
  options.elastic = true;
  options.pool_tokens = 1000;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 600)), nullptr);
  const std::vector<Action> actions = stepper.Arrive(2, 600);
  EXPECT_NE(Only<Park>(actions), nullptr) << Text(actions);
}

TEST(PenstockCore, UnobservedRequestsAdvanceByTheForecastStepTime) {
  FleetOptions options;
  options.pool_tokens = 10'000;
  CoreStepper stepper(MakeFleet(options));
  RequestArrived event;
  event.request = RequestId(1);
  event.priority = ClassId(1);
  event.prompt = Tokens(100);
  event.observed = false;
  stepper.Send(event);
  stepper.RunTimers(stepper.now + Duration::Seconds(1));
  const int64_t held = stepper.core.View(stepper.now).pools[0].held.value();
  EXPECT_GT(held, 150);
  EXPECT_LT(held, 250);
}

TEST(PenstockCore, SequencesOfOneRequestSharePromptMemoryAndBatchRows) {
  FleetOptions options;
  options.max_sequences = 4;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  RequestArrived event;
  event.request = RequestId(1);
  event.priority = ClassId(1);
  event.prompt = Tokens(100);
  event.sequences = 3;
  stepper.Send(event);
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(100));
  stepper.Step(10);
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].held, Amount(100 + 3 * 10));
  event.request = RequestId(2);
  const std::vector<Action> actions = stepper.Send(event);
  const Park* park = Only<Park>(actions);
  ASSERT_NE(park, nullptr) << Text(actions);
  EXPECT_EQ(park->reason, WaitReason::kSequences);
}

TEST(PenstockCore, EventsAboutUnknownRequestsAreVoid) {
  CoreStepper stepper(MakeFleet({}));
  EXPECT_TRUE(stepper.Send(FirstToken{RequestId(9)}).empty());
  EXPECT_TRUE(stepper.Finish(9, 5).empty());
  EXPECT_TRUE(stepper.Send(RequestReturned{RequestId(9), Tokens(0), true, Duration()}).empty());
  EXPECT_TRUE(stepper.Send(Progress{{{ReplicaId(7), 3, stepper.now}}, {{RequestId(9), Tokens(4)}}}).empty());
}

}  // namespace
}  // namespace penstock
