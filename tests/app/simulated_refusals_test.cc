// Refusals of a simulated fleet: how early clients hear them, how many are wrong, and who comes back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

constexpr char kTwoGpus[] =
    "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
    "replicas:\n"
    "  - {id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {}}\n"
    "  - {id: r1, gpus: [g1], model: llama-3.1-8b, simulated: {}}\n"
    "classes:\n"
    "  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n";

// Two GPUs that can serve about half of what is asked of them.
absl::StatusOr<bench::SimulationReport> Overloaded(double rate, const std::string& policy, bool retry = false) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*ParseConfig(kTwoGpus, "fleet.yaml"));
  const auto trace = bench::OpenTrace("generate:azure-conv", {rate, Duration::Seconds(60), Duration()}, 7);
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  SimulationRun run;
  run.policy = policy;
  run.window = trace->length;
  run.count_wrong = true;
  run.retry = retry;
  return RunSimulation(*setup, *arrivals, run);
}

TEST(SimulatedRefusals, AboveTheKneeTheMedianRefusedRequestHearsItWithinAQuarterOfItsGoal) {
  const auto late = Overloaded(8, "penstock:without=early");
  const auto early = Overloaded(8, "penstock");
  ASSERT_TRUE(late.ok() && early.ok());
  ASSERT_GT(late->results.RefusedCount(), 100);
  EXPECT_GT(late->results.refused_wait_s->p50, 0.6 * 2);
  EXPECT_LE(early->results.refused_wait_s->p50, 0.25 * 2);
  // One seed of a minute; bench/results/early-refusals.md has the cost.
  EXPECT_GE(early->results.active_tokens_per_s, 0.98 * late->results.active_tokens_per_s);
  EXPECT_EQ(late->early_refusals, 0);
  EXPECT_EQ(*late->wrong_refusals, 0);
  EXPECT_GT(2 * early->early_refusals, early->results.RefusedCount());
  EXPECT_GT(*early->wrong_refusals, 0) << "above the knee others are served in their place";
  EXPECT_LT(*early->wrong_refusals, early->early_refusals);
}

TEST(SimulatedRefusals, BelowTheKneeNobodyIsRefusedEarly) {
  const auto report = Overloaded(1, "penstock");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->early_refusals, 0);
  EXPECT_EQ(*report->wrong_refusals, 0);
  EXPECT_EQ(nlohmann::json::parse(bench::ReportJson(*report))["wrong_refusals"], 0);
}

TEST(SimulatedRefusals, ARefusedClientComesBackOnceAfterItsRetryAfter) {
  const auto once = Overloaded(8, "penstock");
  const auto again = Overloaded(8, "penstock", true);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_FALSE(once->retries);
  ASSERT_TRUE(again->retries);
  EXPECT_EQ(again->results.offered, once->results.offered + again->retries->offered);
  EXPECT_GE(again->results.RefusedCount(), again->retries->offered);
  EXPECT_LE(again->retries->on_time, again->retries->served);
  EXPECT_GT(again->retries->served, 0);
  EXPECT_FALSE(Overloaded(1, "penstock:true=lengths", true).ok()) << "it knows no output of a retry";
}

}  // namespace
}  // namespace penstock
