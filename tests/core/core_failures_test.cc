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

TEST(CoreFailures, AReplicaThatIsDownGetsNothingAndItsModelIsRefusedWith503) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  stepper.Wait(Duration::Seconds(6));
  const std::vector<Action> actions = stepper.Arrive(1, 100);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->reason, Refusal::kNoReplica);
  EXPECT_EQ(TraitsOf(refuse->reason).status, 503);
  EXPECT_EQ(refuse->retry_after, Duration::Seconds(5));
  EXPECT_FALSE(refuse->unwoken);
}

TEST(CoreFailures, NoQueueIsBlamedForAnOutage) {
  CoreStepper stepper(MakeFleet({}));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 100)), nullptr);  // A rate that fades.
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  stepper.Wait(Duration::Seconds(600));
  const std::vector<Action> actions = stepper.Arrive(2, 100);
  const Refuse* refuse = Only<Refuse>(actions);
  ASSERT_NE(refuse, nullptr) << Text(actions);
  EXPECT_EQ(refuse->retry_after, Duration::Seconds(5));
}

TEST(CoreFailures, RequestsWaitAMomentForAReplicaThatJustWentDown) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  ASSERT_NE(Only<Park>(stepper.Arrive(1, 100, ClassId(1))), nullptr);
  stepper.Wait(Duration::Milliseconds(500));
  const std::vector<Action> actions = stepper.Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  EXPECT_NE(Only<Forward>(actions), nullptr) << Text(actions);
}

TEST(CoreFailures, AProbingReplicaGetsOneRequestAtATime) {
  CoreStepper stepper(MakeFleet({}));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kProbing});
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 100)), nullptr);
  ASSERT_NE(Only<Park>(stepper.Arrive(2, 100)), nullptr);
  stepper.Send(FirstToken{RequestId(1)});
  EXPECT_NE(Only<Forward>(stepper.Send(ReplicaHealth{ReplicaId(0), Health::kUp})), nullptr);
}

TEST(CoreFailures, AReturnedRequestTriesEveryReplicaBeforeOneThatFailedIt) {
  CoreStepper stepper(MakeFleet({.replicas = 4}));
  std::vector<ReplicaId> tried;
  const std::vector<Action> first = stepper.Arrive(1, 100);
  ASSERT_NE(Only<Forward>(first), nullptr);
  tried.push_back(Only<Forward>(first)->replica);
  for (int i = 0; i < 4; ++i) {
    const std::vector<Action> again = stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true});
    ASSERT_EQ(again.size(), 2u) << Text(again);
    ASSERT_NE(std::get_if<Forward>(&again[1]), nullptr) << Text(again);
    tried.push_back(std::get_if<Forward>(&again[1])->replica);
  }
  std::sort(tried.begin(), tried.begin() + 4);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(tried[i], ReplicaId(i));
}

// Its class's queue time is for waiting, not for what an engine had begun.
TEST(CoreFailures, AnAnswerThatHadBegunWaitsItsQueueTimeAnewWhenItsEngineDies) {
  for (const int64_t kept : {0, 5}) {
    CoreStepper stepper(MakeFleet({.replicas = 2, .max_sequences = 1}));
    ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1000)), nullptr);
    ASSERT_NE(Only<Forward>(stepper.Arrive(2, 1000)), nullptr);
    stepper.Send(FirstToken{RequestId(1)});
    stepper.Wait(Duration::Seconds(100));
    stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
    const auto* parked = Only<Park>(stepper.Send(RequestRequeued{RequestId(1), Tokens(kept), true}));
    ASSERT_NE(parked, nullptr) << kept;
    EXPECT_TRUE(stepper.RunTimers(stepper.now + Duration::Seconds(29)).empty()) << kept;
    const std::vector<Action> refused = stepper.RunTimers(stepper.now + Duration::Seconds(2));
    ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
    EXPECT_EQ(Only<Refuse>(refused)->reason, Refusal::kQueueTimeout);
  }
}

TEST(CoreFailures, AnAnswerThatHadNotBegunKeepsItsFirstQueueTime) {
  CoreStepper stepper(MakeFleet({.replicas = 2, .enforce_goals = false, .max_sequences = 1}));
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 1000)), nullptr);
  ASSERT_NE(Only<Forward>(stepper.Arrive(2, 1000)), nullptr);
  stepper.Wait(Duration::Seconds(20));
  stepper.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true});
  const std::vector<Action> refused = stepper.RunTimers(stepper.now + Duration::Seconds(11));
  ASSERT_NE(Only<Refuse>(refused), nullptr) << Text(refused);
}

TEST(CoreFailures, AReturnedRequestIsPlacedOnAnotherReplica) {
  FleetOptions options;
  options.replicas = 2;
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> first = stepper.Arrive(1, 100);
  ASSERT_NE(Only<Forward>(first), nullptr);
  const ReplicaId failed = Only<Forward>(first)->replica;
  const std::vector<Action> again = stepper.Send(RequestRequeued{RequestId(1), Tokens(0), true});
  ASSERT_EQ(again.size(), 2u) << Text(again);
  const Forward* forward = std::get_if<Forward>(&again[1]);
  ASSERT_NE(forward, nullptr) << Text(again);
  EXPECT_NE(forward->replica, failed);
}

TEST(CoreFailures, MemoryOfAnAbortedRequestCountsUntilItsHoldIsOver) {
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

TEST(CoreFailures, AFatalPoolIsRelievedByAbortingTheLeastCostlyRequestNeverTheOldest) {
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
  const std::vector<Action> returned = stepper.Send(RequestRequeued{RequestId(2), Tokens(0), false});
  ASSERT_NE(Only<Park>(returned), nullptr) << Text(returned);
  const std::vector<Action> freed = stepper.Finish(1, 1000);
  EXPECT_NE(Only<Forward>(freed), nullptr) << Text(freed);
}

TEST(CoreFailures, RequestsThatCannotBeRegeneratedAreCountedAtTheirBoundInAFatalPool) {
  FleetOptions options;
  options.pool_tokens = 2000;
  options.fatal = true;
  options.enforce_goals = false;
  CoreStepper stepper(MakeFleet(options));
  RequestArrived event;
  event.service_class = ClassId(1);
  event.prompt = Tokens(300);
  event.max_output = Tokens(900);
  event.regenerable = false;
  event.request = RequestId(1);
  ASSERT_NE(Only<Forward>(stepper.Send(event)), nullptr);
  event.request = RequestId(2);
  EXPECT_NE(Only<Park>(stepper.Send(event)), nullptr);
}

TEST(CoreFailures, ForeignUseLowersWhatIsFree) {
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

TEST(CoreFailures, AnEngineThatUsesMoreThanItsLeasesIsAnOverdraftAndCounted) {
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

TEST(CoreFailures, PreemptionsRaiseTheRiskAndCalmLowersIt) {
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

TEST(CoreFailures, EventsAboutUnknownRequestsAreVoid) {
  CoreStepper stepper(MakeFleet({}));
  EXPECT_TRUE(stepper.Send(FirstToken{RequestId(9)}).empty());
  EXPECT_TRUE(stepper.Finish(9, 5).empty());
  EXPECT_TRUE(stepper.Send(RequestRequeued{RequestId(9), Tokens(0), true}).empty());
  EXPECT_TRUE(stepper.Send(Progress{{{ReplicaId(7), 3, stepper.now}}, {{RequestId(9), Tokens(4)}}}).empty());
}

TEST(CoreFailures, AReloadThatGivesItsReplicaAnotherPoolLeavesARunningRequestInItsOwn) {
  Fleet fleet = MakeFleet({});
  CoreStepper stepper(fleet);
  ASSERT_NE(Only<Forward>(stepper.Arrive(1, 500)), nullptr);
  stepper.Send(FirstToken{RequestId(1)});
  const Amount before = stepper.core.View(stepper.now).pools[0].forecast_peak;
  PoolSpec bytes = fleet.pools[0];
  bytes.name = "bytes";
  bytes.in_bytes = true;
  bytes.capacity = Amount(1'000'000'000);
  fleet.pools.push_back(bytes);
  Footprint large = Footprint::InTokens(Tokens(1));
  large.full_per_token = 1000;
  fleet.replicas[0].pools = {{PoolId(1), large}};
  stepper.Send(FleetChanged{fleet});
  stepper.Wait(Duration::Milliseconds(100));
  stepper.Step(10);
  const CoreView view = stepper.core.View(stepper.now);
  EXPECT_EQ(view.pools[0].held, Amount(510));
  EXPECT_LT(view.pools[0].forecast_peak, before * 2);
  EXPECT_EQ(view.pools[1].held, Amount(0));
  EXPECT_EQ(view.pools[1].forecast_peak, Amount(0));
}

TEST(CoreFailures, TheLastReportOfADeadEngineTakesNoMemory) {
  FleetOptions options;
  options.replicas = 2;
  options.elastic = true;  // One pool.
  CoreStepper stepper(MakeFleet(options));
  const std::vector<Action> placed = stepper.Arrive(1, 40'000);
  const Forward* forward = Only<Forward>(placed);
  ASSERT_NE(forward, nullptr);
  const ReplicaId dead = forward->replica;
  const ReplicaId other(1 - dead.value());
  stepper.Send(FirstToken{RequestId(1)});
  stepper.Wait(Duration::Milliseconds(100));
  stepper.Step(1, dead.value());
  stepper.Send(EngineReport{dead, stepper.now, 0.4, 1, 0});
  stepper.Send(ReplicaHealth{dead, Health::kDown});
  stepper.Send(RequestClosed{RequestId(1), Outcome::kEngineFailed});
  for (int i = 0; i < 2; ++i) {
    stepper.Wait(Duration::Seconds(1));
    stepper.Send(EngineReport{other, stepper.now, 0.0, 0, 0});
  }
  EXPECT_EQ(stepper.core.View(stepper.now).pools[0].overdraft, Amount(0));
}

}  // namespace
}  // namespace penstock
