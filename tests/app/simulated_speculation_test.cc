// Speculative decoding in a simulated fleet: the core learns the tokens of a step, and its forecasts stay right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"
#include "router/core/penstock_core.h"

namespace penstock {
namespace {

struct Learned {
  double step_factor = 0;   // Learned over true step time.
  double tokens_per_s = 0;  // Forecast for a stream, at the middle of the run.
};

// A steady load on one replica whose prior is right.
Learned LearnedWith(const std::string& speculation, bool tokens_learned = true) {
  const absl::StatusOr<Config> config = ParseConfig(
      "gpus: [{id: g0, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g0], model: llama-3.1-8b, simulated: {" +
          speculation + "}}]\n",
      "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  bench::Trace trace;
  for (int i = 0; i < 200; ++i) {
    bench::TraceRequest& request = trace.requests.emplace_back();
    request.arrival = Duration::Seconds(0.2 * i);
    request.prompt = Tokens(1000);
    request.output = Tokens(300);
  }
  trace.length = Duration::Seconds(60);
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);
  CoreRules rules;
  rules.speculation = tokens_learned;
  PenstockCore core(std::move(rules));
  bench::SimulationOptions options;
  options.window = trace.length;
  options.step_error = 0;
  bench::FleetSimulation simulation(setup->spec, core, options);
  Learned learned;
  simulation.Observe([&](const Event&, Instant now, const std::vector<Action>&) {
    if (now < Instant::FromSeconds(30) || learned.tokens_per_s > 0) return;
    const CoreView view = core.View(now);
    learned = {view.replicas[0].step_factor, view.replicas[0].tokens_per_s};
  });
  simulation.Run(*arrivals);
  return learned;
}

TEST(SimulatedSpeculation, TheStepModelLearnsStepsAndNotTokens) {
  const Learned plain = LearnedWith("");
  const Learned speculating = LearnedWith("tokens_per_step: 2.5");
  EXPECT_NEAR(plain.step_factor, 1, 0.1);
  EXPECT_NEAR(speculating.step_factor, 1, 0.1) << "else prompts would seem to take 0.4 of their time";
  EXPECT_GT(speculating.tokens_per_s, 1.8 * plain.tokens_per_s) << "streams are as fast as they are";
}

TEST(SimulatedSpeculation, WithoutTheRuleAStreamIsTakenToGetOneTokenPerStep) {
  const Learned learned = LearnedWith("tokens_per_step: 2.5");
  const Learned without = LearnedWith("tokens_per_step: 2.5", false);
  EXPECT_LT(without.tokens_per_s, 0.6 * learned.tokens_per_s);
}

TEST(SimulatedSpeculation, EveryRequestGetsItsTokens) {
  const absl::StatusOr<Config> config = ParseConfig(
      "gpus: [{id: g0, kind: a100-80}]\n"
      "replicas: [{id: a, gpus: [g0], model: llama-3.1-8b, simulated: {tokens_per_step: 3.3}}]\n",
      "fleet.yaml");
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  const bench::Trace trace = *bench::OpenTrace("generate:azure-conv", {1, Duration::Seconds(30), Duration()}, 1);
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);
  SimulationRun run;
  run.window = trace.length;
  const auto report = RunSimulation(*setup, *arrivals, run);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->results.finished, static_cast<int64_t>(arrivals->size()));
}

}  // namespace
}  // namespace penstock
