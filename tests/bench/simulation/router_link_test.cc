#include "bench/simulation/router_link.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/bench/simulation/simulation_fixture.h"

namespace penstock::bench {
namespace {

TEST(RouterLink, ARequestAndItsOutcomeTakeOneDelayEachAndARequestItsTimeInTheApiServer) {
  EventQueue events;
  SimulationOptions options;
  options.link_delay = Duration::Milliseconds(3);
  RouterLink link(options, 1, events);
  link.SendRequest(4, 2, Duration::Milliseconds(40));
  const Scheduled submit = events.Next();
  EXPECT_EQ(submit.kind, Occurrence::kSubmit);
  EXPECT_EQ(submit.subject, 4u);
  EXPECT_EQ(submit.detail, 2u);
  EXPECT_EQ(submit.at, Instant() + Duration::Milliseconds(43));

  link.SendOutcome(0, {{{9, true}}, {}});
  const Scheduled deliver = events.Next();
  EXPECT_EQ(deliver.kind, Occurrence::kDeliver);
  EXPECT_EQ(deliver.at, Instant() + Duration::Milliseconds(46));
  const RouterLink::Outcome outcome = link.TakeOutcome(deliver.subject);
  EXPECT_EQ(outcome.replica, 0u);
  ASSERT_EQ(outcome.step.tokens.size(), 1u);
  EXPECT_EQ(outcome.step.tokens[0].id, 9u);
}

TEST(RouterLink, AnOutcomeWithoutTokensOrEndsIsNotSent) {
  EventQueue events;
  const SimulationOptions options;
  RouterLink link(options, 1, events);
  link.SendOutcome(0, {});
  EXPECT_TRUE(events.empty());
}

TEST(RouterLink, OutcomesOnTheirWayDoNotMix) {
  EventQueue events;
  const SimulationOptions options;
  RouterLink link(options, 2, events);
  for (uint64_t i = 0; i < 5; ++i) link.SendOutcome(i % 2, {{{i, false}}, {}});
  for (uint64_t i = 0; i < 5; ++i) {
    const RouterLink::Outcome outcome = link.TakeOutcome(events.Next().subject);
    EXPECT_EQ(outcome.replica, i % 2);
    EXPECT_EQ(outcome.step.tokens[0].id, i);
    link.SendOutcome(0, {{{100 + i, false}}, {}});
  }
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(link.TakeOutcome(events.Next().subject).step.tokens[0].id, 100 + i);
}

TEST(RouterLink, AReportShowsTheGaugesOfItsReadingAndComesLater) {
  EventQueue events;
  SimulationOptions options;
  options.report_delay = Duration::Milliseconds(40);
  RouterLink link(options, 2, events);
  link.StartReports(1);
  const Scheduled measure = events.Next();
  EXPECT_EQ(measure.kind, Occurrence::kMeasure);
  EXPECT_LT(measure.at - Instant(), options.report_period);
  simulated::EngineGauges gauges;
  gauges.used = Blocks(3);
  gauges.total = Blocks(12);
  gauges.running = 5;
  link.SendReport(1, gauges);
  const Scheduled report = events.Next();
  EXPECT_EQ(report.kind, Occurrence::kReport);
  EXPECT_EQ(report.at - measure.at, Duration::Milliseconds(40));
  EXPECT_EQ(link.report(1).sampled_at, measure.at);
  EXPECT_EQ(link.report(1).replica, ReplicaId(1));
  EXPECT_DOUBLE_EQ(link.report(1).kv_used_share, 0.25);
  EXPECT_EQ(link.report(1).running, 5);
}

TEST(RouterLink, EstimatesErrByTheirStandardDeviationAndBeliefsByTheirLimit) {
  constexpr uint64_t kSeed = 11;
  constexpr int kDraws = 4000;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  EventQueue events;
  SimulationOptions options;
  options.seed = kSeed;
  options.prompt_error = 0.1;
  options.step_error = 0.2;
  RouterLink link(options, 1, events);
  double squares = 0;
  for (int i = 0; i < kDraws; ++i)
    squares += std::pow(link.EstimateOf(Tokens(1000), TenantId(0)) / 1000 - 1, 2) / kDraws;
  // The standard error of a standard deviation is sigma / sqrt(2 n); five of them.
  EXPECT_NEAR(std::sqrt(squares), 0.1, 5 * 0.1 / std::sqrt(2.0 * kDraws));

  // A tenant's bias is the same for all its prompts; those of many tenants spread as asked for.
  options.prompt_error = 0;
  options.prompt_bias = 0.1;
  EXPECT_EQ(link.EstimateOf(Tokens(1000), TenantId(7)), link.EstimateOf(Tokens(2000), TenantId(7)) / 2);
  double biases = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    biases += std::pow(link.EstimateOf(Tokens(1000), TenantId(i)) / 1000 - 1, 2) / kDraws;
  }
  EXPECT_NEAR(std::sqrt(biases), 0.1, 0.01);

  const Fleet fleet = FleetOf(40).fleet;
  const Fleet believed = link.BelievedFleet(fleet);
  double furthest = 0;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const StepCoefficients& truth = fleet.replicas[i].prior;
    const double factor = believed.replicas[i].prior.a / truth.a;
    EXPECT_NEAR(believed.replicas[i].prior.d, factor * truth.d, 1e-12);
    EXPECT_NEAR(believed.replicas[i].prior.e, factor * truth.e, 1e-12);
    furthest = std::max(furthest, std::abs(factor - 1));
  }
  EXPECT_LE(furthest, 0.2);
  EXPECT_GT(furthest, 0.15) << "40 draws all within three quarters of the limit";
}

}  // namespace
}  // namespace penstock::bench
