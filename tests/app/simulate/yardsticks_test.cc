// The yardsticks of `penstock simulate`: what nobody may exceed, and what many do not reach.
#include <gtest/gtest.h>

#include "app/simulate/carried_search.h"
#include "app/simulate/simulation_setup.h"
#include "bench/simulation/hindsight_bound.h"
#include "config/config.h"

namespace penstock {
namespace {

class Yardsticks : public ::testing::Test {
 protected:
  struct Run {
    bench::SimulationReport report;
    double bound = 0;
  };

  static SimulationSetup SetUpOf(const std::string& yaml) {
    const absl::StatusOr<Config> config =
        ParseConfig(yaml + "classes: {standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}}\n", "fleet.yaml");
    EXPECT_TRUE(config.ok()) << config.status();
    const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return *setup;
  }

  static bench::SimulationReport Simulated(const std::string& yaml, const std::string& workload, double rate,
                                           double seconds, const std::string& policy) {
    const SimulationSetup setup = SetUpOf(yaml);
    const auto trace = OpenWindow(workload, {rate, Duration::Seconds(seconds), Duration()}, 7);
    EXPECT_TRUE(trace.ok()) << trace.status();
    SimulationRun run;
    run.policy = policy;
    run.window = trace->length;
    run.bounds = true;
    const auto arrivals = bench::ArrivalsOf(*trace, setup.model_of, setup.class_of, setup.tenant_of);
    const auto report = RunSimulation(setup, *arrivals, run);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }

  static std::string PairOf(const std::string& first, const std::string& second) {
    return "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\nreplicas:\n"
           "  - {id: r0, gpus: [g0], model: llama-3.1-8b, simulated: {" +
           first + "}}\n  - {id: r1, gpus: [g1], model: llama-3.1-8b, simulated: {" + second + "}}\n";
  }
};

TEST_F(Yardsticks, MoreRulesAreNeverWorseAndOneCopyServesATimeSlicedGpu) {
  const std::string shared =
      "gpus: [{id: g0, kind: a100-80}]\nreplicas:\n"
      "  - {id: r0, gpus: [g0], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}\n"
      "  - {id: r1, gpus: [g0], model: llama-3.1-8b, kv_memory: 18GB, simulated: {}}\n";
  const auto active = [&](const std::string& policy) {
    return Simulated(shared, "generate:bursts", 1.5, 60, policy).results.active_tokens_per_s;
  };
  EXPECT_GE(active("informed:more=any"), active("informed"));
  EXPECT_EQ(active("clairvoyant"), active("informed")) << "the old name";
  const auto one = Simulated(shared, "generate:bursts", 1.5, 60, "informed:order=fair,more=one-copy");
  EXPECT_EQ(one.results.per_replica.count("r1"), 0u);
  EXPECT_GT(one.results.per_replica.at("r0").finished, 0);
}

TEST_F(Yardsticks, NobodyHasMoreActiveTokensThanHindsightAllows) {
  for (const std::string& yaml : {PairOf("", ""), PairOf("", "slowdown: 3"), PairOf("max_seqs: 8", "")}) {
    for (const char* workload : {"generate:azure-conv", "generate:documents", "generate:bursts", "generate:fanout"}) {
      for (const char* policy : {"penstock", "informed:order=density,memory=present", "least_request"}) {
        const bench::SimulationReport report = Simulated(yaml, workload, 8, 15, policy);
        EXPECT_LE(report.results.active_tokens_per_s, *report.hindsight_bound) << policy << " " << workload << yaml;
      }
    }
  }
}

TEST_F(Yardsticks, ATenantsBiasChangesTheErrorsOfItsPrompts) {
  const SimulationSetup setup = SetUpOf(PairOf("", ""));
  const auto trace = OpenWindow("generate:chat", {1, Duration::Seconds(30), Duration()}, 7);
  const auto arrivals = bench::ArrivalsOf(*trace, setup.model_of, setup.class_of, setup.tenant_of);
  SimulationRun run;
  run.window = trace->length;
  const auto error = [&] { return RunSimulation(setup, *arrivals, run)->results.forecast.at("prompt_error_p50"); };
  const double unbiased = error();
  run.prompt_bias = 0.1;
  EXPECT_GT(error(), 1.5 * unbiased);
  run.policy = "penstock:true=prompts";
  EXPECT_EQ(error(), 0);
}

TEST_F(Yardsticks, TheCarriedLoadOfSeveralSeedsIsTheirMedian) {
  const SimulationSetup setup = SetUpOf(PairOf("", ""));
  CarriedRequest request;
  request.trace = "generate:azure-conv";
  request.window = {2, Duration::Seconds(20), Duration()};
  request.policy = "least_request";
  request.seeds = 3;
  const auto load = FindCarriedLoad(setup, request);
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_EQ(load->by_seed.size(), 3u);
  EXPECT_LE(load->rate.low, load->rate.median);
  EXPECT_LE(load->rate.median, load->rate.high);
  EXPECT_LE(load->rate.median, load->bound);
  request.seeds = 1;
  EXPECT_EQ(FindCarriedLoad(setup, request)->rate.median, load->by_seed.front());
  request.window.from = Duration::Seconds(10);
  const double later = FindCarriedLoad(setup, request)->rate.median;
  request.window.from = Duration();
  request.shift = Duration::Seconds(10);
  request.seeds = 2;
  request.seed = 0;  // The second repetition then has the seed of the run before.
  EXPECT_NEAR(FindCarriedLoad(setup, request)->by_seed.back(), later, 0.05 * later);
}

TEST_F(Yardsticks, ACarriedLoadOfAWindowThatIsShortBesideItsGoalSaysSo) {
  const SimulationSetup setup = SetUpOf(PairOf("", ""));
  CarriedRequest request;
  request.trace = "generate:azure-conv";
  request.policy = "least_request";
  const auto text = [&](int64_t seconds) {
    request.window = {2, Duration::Seconds(static_cast<double>(seconds)), Duration()};
    return CarriedText(*FindCarriedLoad(setup, request), request);
  };
  EXPECT_NE(text(3).find("take a longer --duration"), std::string::npos) << text(3);
  EXPECT_EQ(text(60).find("--duration"), std::string::npos) << text(60);
}

}  // namespace
}  // namespace penstock
