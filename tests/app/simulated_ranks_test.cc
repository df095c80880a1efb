// Data-parallel ranks in a simulated fleet: a pool each, and no rank's memory counts as another's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/simulate/simulation_setup.h"
#include "config/config.h"

namespace penstock {
namespace {

SimulationSetup RankSetup(const std::string& replicas) {
  const absl::StatusOr<Config> config =
      ParseConfig("gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\nreplicas:\n" + replicas, "fleet.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<SimulationSetup> setup = SetUpSimulation(*config);
  EXPECT_TRUE(setup.ok()) << setup.status();
  return *setup;
}

bench::SimulationReport PlayRanks(const SimulationSetup& setup, bool one_pool = false) {
  const bench::Trace trace = *bench::OpenTrace("generate:azure-conv", {8, Duration::Seconds(60), Duration()}, 1);
  const auto arrivals = bench::ArrivalsOf(trace, setup.model_of, setup.class_of, setup.tenant_of);
  EXPECT_TRUE(arrivals.ok()) << arrivals.status();
  SimulationRun run;
  run.window = trace.length;
  run.one_pool = one_pool;
  return *RunSimulation(setup, *arrivals, run);
}

constexpr char kOneOfTwoRanks[] =
    "  - {id: a, gpus: [g0, g1], model: llama-3.1-8b, kv_tokens: 40000, simulated: {ranks: 2}}\n";
constexpr char kTwoReplicas[] =
    "  - {id: a, gpus: [g0], model: llama-3.1-8b, kv_tokens: 40000, simulated: {}}\n"
    "  - {id: b, gpus: [g1], model: llama-3.1-8b, kv_tokens: 40000, simulated: {}}\n";

TEST(SimulatedRanks, TwoRanksDoWhatTwoReplicasDo) {
  const bench::SimulationReport ranks = PlayRanks(RankSetup(kOneOfTwoRanks));
  const bench::SimulationReport replicas = PlayRanks(RankSetup(kTwoReplicas));
  EXPECT_EQ(ranks.results.finished, replicas.results.finished);
  EXPECT_EQ(ranks.results.active_tokens_per_s, replicas.results.active_tokens_per_s);
  EXPECT_EQ(ranks.results.preemptions, replicas.results.preemptions);
}

TEST(SimulatedRanks, EachHasItsOwnGpuAndName) {
  const SimulationSetup setup = RankSetup(kOneOfTwoRanks);
  ASSERT_EQ(setup.spec.fleet.replicas.size(), 2u);
  EXPECT_EQ(setup.spec.fleet.replicas[1].name, "a/1");
  EXPECT_EQ(setup.spec.replicas[0].gpus, std::vector<int>{0});
  EXPECT_EQ(setup.spec.replicas[1].gpus, std::vector<int>{1});
  EXPECT_EQ(setup.spec.replicas[0].limits.kv_tokens, Tokens(40'000));
}

TEST(SimulatedRanks, ARouterThatTakesThemForOnePoolFillsOneOfThemTooMuch) {
  const SimulationSetup setup = RankSetup(kOneOfTwoRanks);
  const bench::SimulationReport apart = PlayRanks(setup);
  const bench::SimulationReport one = PlayRanks(setup, true);
  EXPECT_EQ(one.results.offered, apart.results.offered);
  EXPECT_GT(one.results.preemptions, apart.results.preemptions);
  EXPECT_GT(one.results.finished, 0);
}

TEST(SimulatedRanks, AFleetWithoutRanksIsTheSameForARouterThatKnowsNone) {
  const SimulationSetup setup = RankSetup(kTwoReplicas);
  const bench::SimulationReport usual = PlayRanks(setup);
  const bench::SimulationReport one = PlayRanks(setup, true);
  EXPECT_EQ(one.results.finished, usual.results.finished);
  EXPECT_EQ(one.results.active_tokens_per_s, usual.results.active_tokens_per_s);
}

}  // namespace
}  // namespace penstock
