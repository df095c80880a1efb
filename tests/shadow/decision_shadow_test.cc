#include "router/shadow/decision_shadow.h"

#include <gtest/gtest.h>

#include "tests/shadow/beside.h"

namespace penstock {
namespace {

TEST(DecisionShadow, AnEqualDecisionAgrees) {
  Beside world("round_robin");
  world.Arrives(1, {Beside::Sent(1, 0)});
  world.Arrives(2, {Beside::Sent(2, 1)});
  EXPECT_EQ(world.Of(ShadowVerdict::kSame).requests, 2);
  EXPECT_EQ(world.Report().agreed, 2);
  EXPECT_TRUE(world.Report().recent.empty());
}

TEST(DecisionShadow, TheBooksFollowARequestToItsRealReplica) {
  for (const char* policy : {"penstock", "least_request"}) {
    Beside world(policy);
    world.Arrives(1, {Beside::Sent(1, 1)});
    EXPECT_EQ(world.Running(0), 0) << policy;
    EXPECT_EQ(world.Running(1), 1) << policy;
    world.Arrives(2, {Beside::Sent(2, 1)});
    EXPECT_EQ(world.Running(1), 2) << policy;
    EXPECT_EQ(world.Of(ShadowVerdict::kOtherReplica).requests, 2) << policy << ": both would go to the empty one";
    world.Ends(1, 0.1, 1, 10);
    EXPECT_EQ(world.Running(1), 1) << policy;
  }
}

TEST(DecisionShadow, ADifferenceNamesBothReplicasWithTheirForecasts) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 1)}, 8000);
  world.Arrives(2, {Beside::Sent(2, 1)}, 8000);
  ASSERT_EQ(world.Report().recent.size(), 2u);
  const ShadowDifference newest = world.Report().recent[0];
  EXPECT_EQ(newest.replica, "r1");
  EXPECT_EQ(newest.shadow_replica, "r0");
  EXPECT_GT(*newest.expected_ttft, *newest.shadow_expected_ttft) << "the first prompt is still on its way";
  EXPECT_GT(*newest.peak_share, *newest.shadow_peak_share);
  EXPECT_GT(world.Of(ShadowVerdict::kOtherReplica).gain, 0);
}

TEST(DecisionShadow, APolicyWithoutForecastsShowsNone) {
  Beside world("least_request");
  world.Arrives(1, {Beside::Sent(1, 1)});
  ASSERT_EQ(world.Report().recent.size(), 1u);
  EXPECT_FALSE(world.Report().forecasts);
  EXPECT_FALSE(world.Report().recent[0].expected_ttft);
}

TEST(DecisionShadow, ARequestThatReallyWaitsCountsAsEarlierOnceItIsSent) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Waits(1)});
  EXPECT_EQ(world.Running(0) + world.Running(1), 1) << "where the shadow has sent it";
  world.Wait(3);
  world.Tell(TimerFired{}, {Beside::Sent(1, 1)});
  EXPECT_EQ(world.Of(ShadowVerdict::kEarlier).requests, 1);
  EXPECT_NEAR(world.Of(ShadowVerdict::kEarlier).gain, 3, 0.1);
  EXPECT_EQ(world.Running(1), 1);
  EXPECT_EQ(world.Running(0), 0);
}

TEST(DecisionShadow, ARequestThatReallyWaitsAndLeavesLeavesTheBooksToo) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Waits(1)});
  world.Tell(RequestClosed{RequestId(1), Outcome::kClientGone});
  EXPECT_EQ(world.Running(0) + world.Running(1), 0);
  EXPECT_EQ(world.Report().compared, 0);
  EXPECT_EQ(world.shadow.tracked(), 0u);
}

TEST(DecisionShadow, ARefusedRequestThatTheShadowServesIsFoundAndForgotten) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Refused(1)});
  EXPECT_EQ(world.Of(ShadowVerdict::kServes).requests, 1);
  EXPECT_EQ(world.Of(ShadowVerdict::kServes).within_goal, 1);
  EXPECT_EQ(world.Running(0) + world.Running(1), 0);
  EXPECT_EQ(world.Report().recent.at(0).outcome, "refused");
}

TEST(DecisionShadow, ARequestThatTheShadowRefusesRunsInItsBooksWhereItReallyRuns) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 1)}, 40'000);
  EXPECT_EQ(world.Of(ShadowVerdict::kRefuses).requests, 1);
  EXPECT_EQ(world.Running(1), 1);
  EXPECT_EQ(world.Report().recent.at(0).reason, "context_exceeded");
  world.Ends(1, 3, 1, 10);
  EXPECT_EQ(world.Of(ShadowVerdict::kRefuses).late, 1);
  EXPECT_GT(world.Of(ShadowVerdict::kRefuses).late_tokens, 0);
  EXPECT_EQ(world.Report().recent.at(0).outcome, "late");
  EXPECT_EQ(world.Running(1), 0);
}

TEST(DecisionShadow, ARequestThatTheShadowLetsWaitTellsWhy) {
  Beside world("penstock", 1);
  world.Arrives(1, {Beside::Sent(1, 0)}, 20'000);
  world.Arrives(2, {Beside::Sent(2, 0)}, 20'000);
  EXPECT_EQ(world.Of(ShadowVerdict::kWaits).requests + world.Of(ShadowVerdict::kRefuses).requests, 1);
  EXPECT_FALSE(world.Report().recent.at(0).reason.empty());
  EXPECT_EQ(world.Running(0), 2);
  EXPECT_GT(*world.Report().recent.at(0).peak_share, 1) << "both prompts do not fit";
  EXPECT_EQ(world.Of(ShadowVerdict::kWaits).overfull + world.Of(ShadowVerdict::kRefuses).overfull, 1);
}

TEST(DecisionShadow, ALimitOfATenantIsNoDifference) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Refused(1, Refusal::kTenantTokens)});
  EXPECT_EQ(world.Report().compared, 0);
  EXPECT_EQ(world.Running(0) + world.Running(1), 0);
}

TEST(DecisionShadow, ARequestOfALostEngineIsComparedAgain) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 1)});
  world.Wait(0.2);
  world.Tell(ReplicaHealth{ReplicaId(1), Health::kDown});
  world.Tell(RequestRequeued{RequestId(1)}, {Beside::Waits(1), Beside::Sent(1, 0)});
  EXPECT_EQ(world.Report().compared, 2);
  EXPECT_EQ(world.Of(ShadowVerdict::kSame).requests, 1);
  EXPECT_EQ(world.Running(0), 1);
}

TEST(DecisionShadow, AfterLostEventsTheBooksAreEmpty) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 0)});
  world.Arrives(2, {Beside::Waits(2)});
  world.shadow.Reset(Instant::FromSeconds(world.now));
  EXPECT_EQ(world.Running(0) + world.Running(1), 0);
  world.Ends(1, 0.1, 1, 10);
  EXPECT_EQ(world.Report().resets, 1);
  world.Arrives(3, {Beside::Sent(3, 0)});
  EXPECT_EQ(world.Running(0), 1);
}

TEST(DecisionShadow, TheFirstTokensOfRealPlacementsCheckItsForecast) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 1)});
  world.Ends(1, 0.25, 1, 10);
  const ForecastCheck check = world.Report().forecast;
  EXPECT_EQ(check.compared, 1);
  EXPECT_NEAR(check.observed, 0.25, 1e-6);
  EXPECT_GT(check.expected, 0);
}

TEST(DecisionShadow, AfterLostEventsNothingIsComparedUntilTheForgottenRequestsClosed) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 0)});
  world.shadow.Reset(Instant::FromSeconds(world.now));
  world.Arrives(2, {Beside::Sent(2, 1)});
  EXPECT_EQ(world.Report().compared, 1);
  world.Ends(2, 0.1, 1, 10);
  EXPECT_EQ(world.Of(ShadowVerdict::kSame).on_time, 0) << "what was not compared has no outcome";
  EXPECT_EQ(world.Report().forecast.compared, 0);
  world.Tell(RequestClosed{RequestId(1), Outcome::kFinished, Tokens(500), Tokens(10)});
  world.Arrives(3, {Beside::Sent(3, 0)});
  EXPECT_EQ(world.Report().compared, 2);
}

TEST(DecisionShadow, ALostEndDoesNotSilenceItForEver) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Sent(1, 0)});
  world.shadow.Reset(Instant::FromSeconds(world.now));
  world.Wait(DecisionShadow::kPatience.seconds() + 1);
  world.Arrives(2, {Beside::Sent(2, 0)});
  EXPECT_EQ(world.Report().compared, 2);
}

TEST(DecisionShadow, NothingOfAReplicaThatLeftReachesTheNextOneOnItsPlace) {
  Beside world("penstock");
  world.Arrives(1, {Beside::Waits(1)});
  const uint32_t place = world.Running(0) == 1 ? 0 : 1;
  Fleet fleet = ShadowFleet(2);
  fleet.replicas[place].removed = true;
  world.Tell(ReplicaHealth{ReplicaId(place), Health::kDown});
  world.Tell(FleetChanged{fleet});
  fleet.replicas[place] = ReplicaSpec();
  fleet.replicas[place].removed = true;
  fleet.pools[place] = PoolSpec();
  fleet.gpus[place] = GpuSpec();
  world.Tell(FleetChanged{fleet});
  world.Tell(FleetChanged{ShadowFleet(2)});
  world.Tell(ReplicaHealth{ReplicaId(place), Health::kUp});
  EXPECT_EQ(world.Running(place), 0);
  EXPECT_EQ(world.Running(1 - place), 1) << "the shadow sends it elsewhere";
  world.Tell(TimerFired{}, {Beside::Sent(1, place)});
  EXPECT_EQ(world.Running(place), 1);
  EXPECT_EQ(world.Running(1 - place), 0);
}

TEST(DecisionShadow, EqualEventsGiveEqualReports) {
  const auto run = [] {
    Beside world("penstock");
    for (uint64_t id = 1; id <= 200; ++id) {
      world.Arrives(id, {Beside::Sent(id, id % 2)}, 300 + static_cast<int64_t>(id % 7) * 100);
      world.Wait(0.01);
      if (id > 20) world.Tell(RequestClosed{RequestId(id - 20), Outcome::kFinished, Tokens(500), Tokens(20)});
      if (id == 100) world.shadow.Reset(Instant::FromSeconds(world.now));
    }
    const ShadowReport report = world.Report();
    return std::pair(report.agreed, report.verdicts[1].gain);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace penstock
