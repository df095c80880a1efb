// Adapters that simulated engines load, by order and for policies that give none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

// Two replicas of one base, each with room for two of three adapters.
SimulationSetup AdapterSetup(const std::string& load) {
  const absl::StatusOr<Config> config = ParseConfig(
      "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
      "adapters:\n"
      "  - {name: red, path: /red, model: llama-3.1-8b, load: " +
          load +
          "}\n"
          "  - {name: blue, path: /blue, model: llama-3.1-8b, load: " +
          load +
          "}\n"
          "  - {name: green, path: /green, model: llama-3.1-8b, load: " +
          load +
          "}\n"
          "replicas:\n"
          "  - {id: a, gpus: [g0], model: llama-3.1-8b, max_adapters: 2, simulated: {}}\n"
          "  - {id: b, gpus: [g1], model: llama-3.1-8b, max_adapters: 2, simulated: {}}\n"
          "classes: {standard: {ttft: 5s, tpot: 100ms, queue: 30s, default: true}}\n",
      "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  EXPECT_TRUE(setup.ok()) << setup.status();
  return *setup;
}

// Requests in turn for the base and its adapters, one every `gap` seconds. All have the same prompt.
bench::Trace AdapterTrace(int requests, double gap) {
  constexpr const char* kNames[] = {"llama-3.1-8b", "red", "blue", "green"};
  bench::Trace trace;
  for (int i = 0; i < requests; ++i) {
    bench::TraceRequest& request = trace.requests.emplace_back();
    request.arrival = Duration::Seconds(gap * i);
    request.model = kNames[i % 4];
    request.prompt = Tokens(2100);
    request.output = Tokens(50);
    request.prefix_hashes = {11, 12, 13, 14};
  }
  trace.length = Duration::Seconds(gap * requests + 10);
  return trace;
}

bench::SimulationReport PlayAdapters(const SimulationSetup& setup, const bench::Trace& trace,
                                     const std::string& policy = "penstock") {
  const auto arrivals = bench::ArrivalsOf(trace, setup.model_of, setup.class_of, setup.tenant_of);
  EXPECT_TRUE(arrivals.ok()) << arrivals.status();
  SimulationRun run;
  run.policy = policy;
  run.window = trace.length;
  const auto report = RunSimulation(setup, *arrivals, run);
  EXPECT_TRUE(report.ok()) << report.status();
  return *report;
}

TEST(SimulatedAdapters, AreLoadedOnceAndServeFromThenOn) {
  const bench::SimulationReport report = PlayAdapters(AdapterSetup("1s"), AdapterTrace(80, 0.5));
  ASSERT_TRUE(report.loads.has_value());
  EXPECT_EQ(report.loads->loads, 3) << "three adapters have room on two replicas";
  EXPECT_EQ(report.loads->failed, 0);
  EXPECT_EQ(report.results.finished, 80);
  EXPECT_EQ(report.feasible_on_time_share, 1);
  EXPECT_THAT(bench::ReportJson(report), testing::HasSubstr("\"adapters\":{\"loads\":3,\"failed\":0}"));
}

TEST(SimulatedAdapters, ALoadIsPartOfTheTimeToTheFirstToken) {
  const bench::Trace trace = AdapterTrace(4, 5);
  const double slow = PlayAdapters(AdapterSetup("2s"), trace).results.ttft_s->p99;
  const double quick = PlayAdapters(AdapterSetup("100ms"), trace).results.ttft_s->p99;
  EXPECT_NEAR(slow - quick, 1.9, 0.4);
}

TEST(SimulatedAdapters, OneAdapterDoesNotHitTheCacheOfAnother) {
  bench::Trace first_calls = AdapterTrace(4, 2);
  EXPECT_EQ(PlayAdapters(AdapterSetup("100ms"), first_calls).cached_prompt_tokens, 0);
  bench::Trace second_calls = AdapterTrace(8, 2);
  EXPECT_GT(PlayAdapters(AdapterSetup("100ms"), second_calls).cached_prompt_tokens, 2 * 2048);
}

TEST(SimulatedAdapters, ARivalThatGivesNoOrdersIsServedToo) {
  const SimulationSetup setup = AdapterSetup("1s");
  const bench::Trace trace = AdapterTrace(80, 0.5);
  const bench::SimulationReport rival = PlayAdapters(setup, trace, "round_robin");
  EXPECT_EQ(rival.results.finished, 80);
  EXPECT_GT(rival.loads->loads, 10) << "it spreads three adapters over rooms for two";
}

TEST(SimulatedAdapters, EqualSeedsGiveEqualRuns) {
  const SimulationSetup setup = AdapterSetup("1s");
  const bench::Trace trace = AdapterTrace(40, 0.3);
  EXPECT_EQ(PlayAdapters(setup, trace).results.ttft_s->p50, PlayAdapters(setup, trace).results.ttft_s->p50);
}

}  // namespace
}  // namespace penstock
