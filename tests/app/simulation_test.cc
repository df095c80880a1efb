// `penstock simulate` below its command line: a configuration and a trace in, a report out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/simulate/simulation_setup.h"
#include "bench/simulation/fluid_bound.h"
#include "bench/simulation/search/capacity_search.h"
#include "config/config.h"
#include "router/core/contract/event_log.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr char kClasses[] = "classes:\n  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n";

Config Parse(const std::string& yaml) {
  const absl::StatusOr<Config> config = ParseConfig(yaml + kClasses, "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *config;
}

std::string TwoGpus(const std::string& first, const std::string& second = "") {
  return "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\nreplicas:\n"
         "  - {id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {" +
         first + "}}\n  - {id: r1, gpus: [g1], model: llama-3.1-8b, simulated: {" + second + "}}\n";
}

struct Outcome {
  bench::SimulationReport report;
  std::string log;
};

Outcome Simulate(const std::string& yaml, const std::string& workload, double rate, double seconds,
                 const std::string& policy = "penstock", uint64_t seed = 1) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(Parse(yaml));
  EXPECT_TRUE(setup.ok()) << setup.status();
  const auto trace = bench::OpenTrace(workload, {rate, Duration::Seconds(seconds), Duration()}, 7);
  EXPECT_TRUE(trace.ok()) << trace.status();
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  EXPECT_TRUE(arrivals.ok()) << arrivals.status();
  Outcome outcome;
  SimulationRun run;
  run.policy = policy;
  run.seed = seed;
  run.window = trace->length;
  run.observer = [&outcome](const Event& event, Instant now, const std::vector<Action>& actions) {
    outcome.log += FormatEvent(now, event) + "\n";
    for (const Action& action : actions) outcome.log += FormatAction(now, action) + "\n";
  };
  auto report = RunSimulation(*setup, *arrivals, run);
  EXPECT_TRUE(report.ok()) << report.status();
  outcome.report = *std::move(report);
  return outcome;
}

double SecondsIn(const bench::SimulationReport& report, size_t gpu, GpuState state) {
  return report.gpu_time[gpu].second[state];
}

nlohmann::json WithoutTimes(const bench::SimulationReport& report) {
  nlohmann::json json = nlohmann::json::parse(bench::ReportJson(report));
  json.erase("decision_us");
  return json;
}

TEST(Simulation, EngineAndRouterHaveTheQuadraticPartUnlessTheEngineIsPlayedLinear) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(Parse(TwoGpus("", "linear_prefill: true")));
  ASSERT_TRUE(setup.ok()) << setup.status();
  const StepCoefficients prior = StepPrior(*FindGpuKind("a100-80"), *FindBuiltinShape("llama-3.1-8b"), {});
  const StepCoefficients linear = prior.Linear();
  EXPECT_EQ(setup->spec.replicas[0].coefficients, prior);
  EXPECT_EQ(setup->spec.fleet.replicas[0].prior, prior);
  EXPECT_EQ(setup->spec.replicas[1].coefficients, linear);
  EXPECT_EQ(setup->spec.fleet.replicas[1].prior, linear);
}

TEST(Simulation, EqualSeedsGiveEqualLogsAndReportsAndOtherSeedsDoNot) {
  const Outcome first = Simulate(TwoGpus(""), "generate:azure-conv", 2, 40);
  const Outcome second = Simulate(TwoGpus(""), "generate:azure-conv", 2, 40);
  EXPECT_TRUE(first.log == second.log);
  EXPECT_EQ(WithoutTimes(first.report), WithoutTimes(second.report));
  EXPECT_FALSE(first.log == Simulate(TwoGpus(""), "generate:azure-conv", 2, 40, "penstock", 2).log);
}

TEST(Simulation, EveryGpuSecondHasOneStateAndTheLossesAddUpToTheRoofline) {
  for (const char* policy : {"penstock", "round_robin"}) {
    const bench::SimulationReport report = Simulate(TwoGpus(""), "generate:azure-conv", 4, 60, policy).report;
    for (const auto& [gpu, time] : report.gpu_time) EXPECT_NEAR(time.total(), 60, 1e-6) << gpu;
    double losses = 0;
    for (const auto& [name, value] : report.loss) losses += name == "roofline" ? 0 : value;
    EXPECT_NEAR(losses, report.loss.front().second, 1e-6 * losses);
    EXPECT_GT(report.loss.front().second, report.results.active_tokens_per_s);
    EXPECT_GE(report.fluid_bound, report.results.active_tokens_per_s);
  }
}

TEST(Simulation, TheStatesAddUpToWallTimeUnderFaultsAndSleepForAnySeedAndPolicy) {
  const std::string fleet = TwoGpus("down_from: 5s, down_to: 12s", "slowdown: 20, sleep_after: 1s, wake: 500ms");
  for (const char* policy : {"penstock", "round_robin", "present_use"}) {
    for (const uint64_t seed : {1, 2, 3}) {
      const bench::SimulationReport report = Simulate(fleet, "generate:azure-conv", 1, 30, policy, seed).report;
      for (const auto& [gpu, time] : report.gpu_time) {
        EXPECT_NEAR(time.total(), 30, 1e-6) << policy << ", seed " << seed << ", " << gpu;
        for (const double seconds : time.seconds) EXPECT_GE(seconds, 0) << policy << ", seed " << seed;
      }
    }
  }
}

TEST(Simulation, ActiveTokensAreAPartOfAllTokensOfTheSameWindow) {
  // Answers go on for longer than the run.
  const bench::Results results = Simulate(TwoGpus(""), "generate:azure-conv", 2, 5).report.results;
  EXPECT_GT(results.active_tokens_per_s, results.total_tokens_per_s) << "the windows differ";
  EXPECT_LE(results.active_tokens_per_s, results.answered_tokens_per_s);
  EXPECT_LE(results.delivered_active_tokens_per_s, results.total_tokens_per_s);
  EXPECT_NEAR(results.delivered_active_tokens_per_s + results.late_tokens_per_s + results.abandoned_tokens_per_s,
              results.total_tokens_per_s, 1e-9);
}

TEST(Simulation, RequestsOfADeadReplicaGoOnElsewhereAndItComesBack) {
  const bench::SimulationReport report =
      Simulate(TwoGpus("down_from: 10s, down_to: 30s"), "generate:azure-conv", 1, 60).report;
  EXPECT_EQ(report.results.finished, report.results.offered);
  EXPECT_EQ(report.results.FailedCount(), 0);
  EXPECT_NEAR(SecondsIn(report, 0, GpuState::kDown), 21, 0.1) << "it is noticed a second after it came back";
  EXPECT_GT(SecondsIn(report, 0, GpuState::kProductive), 10);
  EXPECT_GT(*report.results.recomputed_tokens_per_s, 0) << "what was lost is computed again";
}

TEST(Simulation, ASlowReplicaIsSlowForItsTimeOnlyAndTheOtherTakesItsLoad) {
  const bench::SimulationReport report =
      Simulate(TwoGpus("slowdown: 20, from: 10s, to: 30s"), "generate:azure-conv", 1, 60).report;
  EXPECT_GT(SecondsIn(report, 0, GpuState::kSlow), 5);
  EXPECT_LE(SecondsIn(report, 0, GpuState::kSlow), 25) << "what began then ends late";
  EXPECT_LT(SecondsIn(report, 1, GpuState::kSlow), 1);
  EXPECT_GT(report.results.per_replica.at("r1").offered, report.results.per_replica.at("r0").offered);
}

TEST(Simulation, AnIdleEngineSleepsAndItsNextRequestWaitsForItToWake) {
  const std::string awake =
      "gpus: [{id: g0, kind: a100-80}]\nreplicas:\n"
      "  - {id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {";
  const std::string asleep = awake + "sleep_after: 1s, wake: 1500ms}}\n";
  const Outcome sleepy = Simulate(asleep, "generate:azure-conv", 0.03, 300);
  const Outcome ready = Simulate(awake + "}}\n", "generate:azure-conv", 0.03, 300);
  EXPECT_GT(SecondsIn(sleepy.report, 0, GpuState::kAsleep), 5);
  EXPECT_EQ(SecondsIn(ready.report, 0, GpuState::kAsleep), 0);
  EXPECT_GT(sleepy.report.results.ttft_s->p50, ready.report.results.ttft_s->p50 + 1);
}

TEST(Simulation, TheTimeOfAnApiServerDelaysEveryFirstToken) {
  const std::string one = "gpus: [{id: g0, kind: a100-80}]\nreplicas:\n  - {id: r0, gpus: [g0], simulated: {";
  const auto fleet = [&](const std::string& setting) { return one + setting + "}, model: llama-3.1-8b}\n"; };
  const Outcome late = Simulate(fleet("host_time: 80ms"), "generate:azure-conv", 0.1, 120);
  const Outcome at_once = Simulate(fleet(""), "generate:azure-conv", 0.1, 120);
  EXPECT_NEAR(late.report.results.ttft_s->p50 - at_once.report.results.ttft_s->p50, 0.08, 0.02);
}

TEST(Simulation, OneElasticPoolCarriesWhatStaticPartsOfItDoNot) {
  const auto fleet = [](const std::string& gpu, const std::string& own) {
    std::string yaml = "gpus: [{id: g0, kind: h100" + gpu + "}]\nmodels:\n";
    for (const char* name : {"model-a", "model-b", "model-c"}) {
      yaml += std::string("  - {name: ") + name + ", shape: qwen2.5-3b}\n";
    }
    yaml += "replicas:\n";
    for (const char* name : {"model-a", "model-b", "model-c"}) {
      yaml += std::string("  - {id: r-") + name + ", gpus: [g0], model: " + name + own + ", simulated: {}}\n";
    }
    return yaml;
  };
  const Outcome elastic = Simulate(fleet(", elastic_kv: 1200MB", ""), "generate:antiphase", 2, 120);
  const Outcome parts = Simulate(fleet("", ", kv_memory: 400MB"), "generate:antiphase", 2, 120);
  EXPECT_GT(elastic.report.results.on_time_share, parts.report.results.on_time_share + 0.02);
  EXPECT_LT(*elastic.report.results.preemptions, 20);
}

TEST(Simulation, PrefixesThatRepeatSaveTimeToFirstToken) {
  const bench::SimulationReport cached = Simulate(TwoGpus(""), "generate:documents", 0.4, 400).report;
  const bench::SimulationReport blind =
      Simulate(TwoGpus(""), "generate:documents", 0.4, 400, "penstock:without=prefixes").report;
  EXPECT_LT(cached.results.ttft_s->p50, blind.results.ttft_s->p50);
  EXPECT_GE(cached.feasible_on_time_share, blind.feasible_on_time_share);
}

TEST(Simulation, PromptsThatRunningRequestsShareAreCountedOnce) {
  const std::string fleet =
      "gpus: [{id: g0, kind: h200}, {id: g1, kind: h200}]\n"
      "replicas:\n"
      "  - {id: a, gpus: [g0], model: llama-3.1-8b, simulated: {}}\n"
      "  - {id: b, gpus: [g1], model: llama-3.1-8b, simulated: {}}\n"
      "trace: {models: {\"\": llama-3.1-8b}}\n";
  const bench::SimulationReport shared = Simulate(fleet, "generate:agentic", 1.5, 150).report;
  const bench::SimulationReport copied =
      Simulate(fleet, "generate:agentic", 1.5, 150, "penstock:without=sharing").report;
  EXPECT_GT(shared.results.on_time_share, copied.results.on_time_share + 0.1);
  const double expected = shared.results.forecast.at("cached_expected");
  const double found = shared.results.forecast.at("cached_found");
  EXPECT_GT(found, 0.8);
  EXPECT_NEAR(expected, found, 0.2 * found);
  EXPECT_EQ(*shared.results.preemptions, 0);
}

TEST(Simulation, NineTenthsOfTheForecastsLieInTheirBand) {
  for (const auto& [horizon, margin] : {std::pair("1s", 0.03), std::pair("10s", 0.06)}) {
    double within = 0;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const bench::SimulationReport report =
          Simulate(TwoGpus(""), "generate:azure-conv", 3, 400, "penstock", seed).report;
      within += report.results.forecast.at(std::string("pool_error_") + horizon + "_within") / 3;
    }
    EXPECT_NEAR(within, 0.9, margin) << horizon;
  }
}

TEST(Simulation, NobodyBeatsTheInformed) {
  const double best =
      Simulate(TwoGpus(""), "generate:azure-conv", 3, 90, "informed").report.results.active_tokens_per_s;
  for (const char* policy : {"penstock", "present_use", "threshold_gate", "least_request", "past_future"}) {
    EXPECT_LE(Simulate(TwoGpus(""), "generate:azure-conv", 3, 90, policy).report.results.active_tokens_per_s,
              1.01 * best)
        << policy;
  }
}

double OnTimeBound(const std::string& yaml, const std::string& workload, double rate, double seconds) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(Parse(yaml));
  const auto trace = bench::OpenTrace(workload, {rate, Duration::Seconds(seconds), Duration()}, 7);
  const auto arrivals = bench::ArrivalsOf(*trace, setup->model_of, setup->class_of, setup->tenant_of);
  return bench::FluidOnTimeBound(setup->spec, *arrivals, trace->length);
}

TEST(Simulation, NobodyHasMoreOnTimeThanGpuTimeAllows) {
  for (const char* workload : {"generate:azure-conv", "generate:documents", "generate:bursts"}) {
    for (const double rate : {1.0, 4.0, 12.0}) {
      const double bound = OnTimeBound(TwoGpus(""), workload, rate, 60);
      for (const char* policy : {"informed:order=deadline", "informed:order=shortest"}) {
        const Outcome outcome = Simulate(TwoGpus(""), workload, rate, 60, policy);
        EXPECT_LE(outcome.report.feasible_on_time_share, bound) << workload << " " << rate;
      }
    }
  }
}

TEST(Simulation, AClientThatLeavesBeforeItsAnswerCouldBeDueCountsForNoPolicy) {
  const Outcome outcome = Simulate(TwoGpus(""), "generate:impatient", 0.1, 120, "penstock");
  EXPECT_EQ(outcome.report.feasible_on_time_share, 1);
  EXPECT_LT(outcome.report.feasible_offered, outcome.report.results.offered);
  EXPECT_GT(outcome.report.feasible_offered, outcome.report.results.offered / 2);
}

TEST(Simulation, TheBoundOnWhatIsOnTimeFallsWithLoadAndWithASlowReplica) {
  EXPECT_EQ(OnTimeBound(TwoGpus(""), "generate:azure-conv", 0.1, 60), 1);
  const double whole = OnTimeBound(TwoGpus(""), "generate:azure-conv", 6, 60);
  EXPECT_LT(whole, 0.99);
  EXPECT_LT(OnTimeBound(TwoGpus(""), "generate:azure-conv", 12, 60), whole);
  EXPECT_LT(OnTimeBound(TwoGpus("slowdown: 4"), "generate:azure-conv", 6, 60), whole);
}

TEST(Simulation, WhatNoReplicaServesIsNamedWithItsLine) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(Parse(TwoGpus("")));
  bench::Trace trace;
  trace.source = "some.csv";
  trace.requests.resize(1);
  trace.requests[0].model = "other";
  trace.requests[0].line = 7;
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of);
  EXPECT_THAT(std::string(arrivals.status().message()), HasSubstr("some.csv:7: no replica serves the model \"other\""));
}

TEST(Simulation, PoliciesThatDoNotExistAreErrors) {
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(Parse(TwoGpus("")));
  for (const char* policy : {"nonsense", "penstock:without=everything", "informed:order=random", "least_load:veto=7"}) {
    SimulationRun run;
    run.policy = policy;
    run.window = Duration::Seconds(1);
    EXPECT_FALSE(RunSimulation(*setup, {}, run).ok()) << policy;
  }
}

TEST(CapacitySearch, FindsTheEdgeWithinItsToleranceFromEitherSide) {
  for (const double edge : {0.013, 0.9, 1.0, 37.0}) {
    int calls = 0;
    const double found = bench::HighestRate({}, [&](double rate) {
      ++calls;
      return rate <= edge ? 0.995 : 0.5;
    });
    EXPECT_LE(found, edge);
    EXPECT_GE(found, edge / 1.02);
    EXPECT_LT(calls, 20);
  }
  EXPECT_EQ(bench::HighestRate({}, [](double) { return 0.0; }), 0);
  EXPECT_EQ(bench::HighestRate({}, [](double) { return 1.0; }), 1024);
}

}  // namespace
}  // namespace penstock
