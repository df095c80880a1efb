// Pairs beside simulated engines in virtual time: invariants under random load and faults.
#include <gtest/gtest.h>

#include <string>

#include "base/generator.h"
#include "bench/simulation/fleet_simulation.h"
#include "tests/core/core_test_support.h"

namespace penstock::bench {
namespace {

// The first half of the replicas computes prompts.
SimulatedFleetSpec PairSpec(int64_t pool_tokens, int replicas = 4) {
  testing::FleetOptions options;
  options.replicas = replicas;
  options.pool_tokens = pool_tokens;
  options.queue = Duration::Seconds(600);
  SimulatedFleetSpec spec;
  spec.fleet = testing::MakeFleet(options);
  for (size_t i = 0; i < spec.fleet.replicas.size(); ++i) {
    ReplicaSpec& replica = spec.fleet.replicas[i];
    const bool prefill = 2 * i < spec.fleet.replicas.size();
    replica.role = prefill ? EngineRole::kPrefill : EngineRole::kDecode;
    replica.transfer = prefill ? 2e-6 : 0;
    replica.pools[0].footprint = Footprint::InTokens(Tokens(16));
    replica.max_context = Tokens(pool_tokens);
    spec.gpus.push_back(simulated::Sharing::kTimeSlicing);
    SimulatedReplica engine;
    engine.limits.kv_tokens = Tokens(pool_tokens);
    engine.coefficients = replica.prior;
    engine.gpus = {static_cast<int>(i)};
    spec.replicas.push_back(engine);
  }
  return spec;
}

std::vector<SimulatedArrival> Arrivals(uint64_t seed, int count, double per_second) {
  Generator generator(seed);
  std::vector<SimulatedArrival> arrivals;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += generator.Exponential(1 / per_second);
    SimulatedArrival arrival;
    arrival.at = Duration::Seconds(at);
    arrival.service_class = ClassId(static_cast<uint32_t>(generator.Next() % 3));
    arrival.prompt = Tokens(std::min<int64_t>(8000, 1 + static_cast<int64_t>(generator.LogNormal(7, 1))));
    arrival.output = Tokens(std::min<int64_t>(1000, 1 + static_cast<int64_t>(generator.LogNormal(4.5, 1))));
    arrival.observed = generator.Uniform() > 0.2;
    if (generator.Uniform() < 0.2) arrival.vanishes = Duration::Seconds(generator.Exponential(1));
    arrivals.push_back(arrival);
  }
  return arrivals;
}

class PairSeeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(PairSeeds, EveryRequestEndsAndEveryPromiseIsReturned) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  PenstockCore core;
  SimulationOptions options;
  options.seed = GetParam();
  SimulatedFleetSpec spec = PairSpec(30'000);
  // A prefill engine dies and comes back, then a decode engine.
  spec.replicas[0].down_from = Duration::Seconds(5);
  spec.replicas[0].down_to = Duration::Seconds(9);
  spec.replicas[3].down_from = Duration::Seconds(11);
  spec.replicas[3].down_to = Duration::Seconds(14);
  FleetSimulation simulation(spec, core, options);
  int64_t pairs = 0;
  simulation.Observe([&](const Event&, Instant, const std::vector<Action>& actions) {
    ASSERT_EQ(core.CheckBooks(), "");
    for (const Action& action : actions) {
      const auto* forward = std::get_if<Forward>(&action);
      pairs += forward != nullptr && forward->prefill ? 1 : 0;
    }
  });
  const SimulationOutcome outcome = simulation.Run(Arrivals(GetParam(), 400, 20));
  EXPECT_GT(pairs, 60);
  int64_t finished = 0;
  int64_t unplaced = 0;  // Their engine died, and the one that is left stays full.
  for (const RequestRecord& record : outcome.records) {
    finished += record.fate == Fate::kFinished ? 1 : 0;
    if (record.fate != Fate::kFailed || record.reason == "client_gone") continue;
    EXPECT_EQ(record.reason, "queue_timeout");
    EXPECT_TRUE(record.tokens.first()) << "only an answer that began can fail so";
    ++unplaced;
  }
  EXPECT_GT(finished, 200);
  EXPECT_LE(unplaced, 2);
  for (const PoolView& pool : outcome.final_view.pools) {
    EXPECT_EQ(pool.promised, Amount(0));
    EXPECT_EQ(pool.draining, Amount(0));
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PairSeeds, ::testing::Range<uint64_t>(1, 6));

TEST(PairSimulation, AFirstTokenTakesPrefillTransferAndOneStep) {
  PenstockCore core;
  SimulationOptions options;
  options.prompt_error = options.step_error = 0;
  FleetSimulation simulation(PairSpec(30'000), core, options);
  std::vector<SimulatedArrival> arrivals(1);
  arrivals[0].at = Duration::Seconds(1);
  arrivals[0].service_class = ClassId(1);
  arrivals[0].prompt = Tokens(8000);
  arrivals[0].output = Tokens(10);
  const SimulationOutcome outcome = simulation.Run(arrivals);
  ASSERT_EQ(outcome.records[0].fate, Fate::kFinished);
  // Four steps of 10 ms, 0.05 ms a token, 2 us a token for the transfer, one step of 10 ms; and the links.
  const double first = outcome.records[0].tokens.first()->seconds() - 1;
  EXPECT_NEAR(first, 0.04 + 0.4 + 0.016 + 0.01, 0.012);
  EXPECT_EQ(outcome.recomputed_tokens, 0);
}

TEST(PairSimulation, PromptsDisturbNoStreamOfADecodeEngine) {
  // Streams beside long prompts: on pairs, no step of theirs computes one.
  const auto slowest = [](bool pairs) {
    SimulatedFleetSpec spec = PairSpec(100'000, 2);
    if (!pairs) {
      for (ReplicaSpec& replica : spec.fleet.replicas) replica.role = EngineRole::kBoth;
    }
    PenstockCore core;
    FleetSimulation simulation(spec, core, {});
    std::vector<SimulatedArrival> arrivals;
    for (int k = 0; k < 60; ++k) {
      const bool chat = k % 3 != 0;
      SimulatedArrival arrival;
      arrival.at = Duration::Milliseconds(100 * k);
      arrival.service_class = ClassId(1);
      arrival.prompt = Tokens(chat ? 200 : 4000);
      arrival.output = Tokens(chat ? 100 : 10);
      arrivals.push_back(arrival);
    }
    const SimulationOutcome outcome = simulation.Run(arrivals);
    double worst = 0;
    for (size_t k = 0; k < outcome.records.size(); ++k) {
      const RequestRecord& record = outcome.records[k];
      if (k % 3 == 0) continue;
      worst = std::max(worst, (record.end - *record.tokens.first()).seconds());
    }
    return worst / 99;
  };
  const double paired = slowest(true);
  const double plain = slowest(false);
  // 200 tokens make a step twice as long now and then.
  EXPECT_LT(paired, 0.013);
  EXPECT_GT(plain, 1.2 * paired);
}

}  // namespace
}  // namespace penstock::bench
