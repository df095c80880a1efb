// Refusals of a simulated fleet: how early clients hear them, how many are wrong, and who comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

// A request that no replica could serve in time is exempt from refusal, not from waiting.
constexpr Duration kPaddingGoal = Duration::Seconds(2);
constexpr Duration kUnserved = Duration::Infinite();

// The time to the first token of a prompt of `tokens` that arrives at `at` beside chat.
Duration TtftBesideChat(double rate, uint64_t seed, Duration at, Tokens tokens) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*ParseConfig(kTwoGpus, "fleet.yaml"));
  auto trace = bench::OpenTrace("generate:azure-conv", {rate, Duration::Seconds(45), Duration()}, seed);
  bench::TraceRequest probe = trace->requests.front();
  probe.arrival = at;
  probe.tenant = "probe";
  probe.prompt = tokens;
  probe.output = Tokens(50);
  const auto place = std::find_if(trace->requests.begin(), trace->requests.end(),
                                  [&](const bench::TraceRequest& request) { return request.arrival > at; });
  trace->requests.insert(place, probe);
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  SimulationRun run;
  run.window = trace->length;
  std::optional<RequestId> id;
  Duration ttft = kUnserved;
  run.observer = [&](const Event& event, Instant now, const std::vector<Action>&) {
    if (const auto* arrived = std::get_if<RequestArrived>(&event); arrived != nullptr && now == Instant() + at) {
      // Estimates are within a tenth.
      if (std::abs(arrived->prompt.AsDouble() / tokens.AsDouble() - 1) < 0.3) id = arrived->request;
    }
    const auto* first = std::get_if<FirstToken>(&event);
    if (first != nullptr && first->request == id) ttft = now - (Instant() + at);
  };
  EXPECT_TRUE(RunSimulation(*setup, *arrivals, run).ok());
  EXPECT_TRUE(id.has_value());
  return ttft;
}

TEST(SimulatedRefusals, APromptThatIsPaddedBeyondFeasibilityIsNeverServedEarlier) {
  int served = 0;
  for (const double rate : {2.0, 5.0, 8.0}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (const int64_t second : {5, 12}) {
        const Duration at = Duration::Milliseconds(second * 1000 + 137);
        const Duration plain = TtftBesideChat(rate, seed, at, Tokens(3000));
        const Duration padded = TtftBesideChat(rate, seed, at, Tokens(60'000));
        // One that cannot be served in time is refused, and may ask again then. Its padded twin gets nothing before.
        EXPECT_GE(padded, std::min(plain, kPaddingGoal))
            << "rate " << rate << ", seed " << seed << ", " << second << " s";
        EXPECT_GT(padded, kPaddingGoal);
        served += plain < kUnserved ? 1 : 0;
      }
    }
  }
  EXPECT_GE(served, 6) << "below the knee the plain prompt is served";
}

}  // namespace
}  // namespace penstock
