// The core beside simulated engines in virtual time: invariants under random load, replay, and the rules' effect.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "bench/simulation/fleet_simulation.h"
#include "router/policies/gates/threshold_gate.h"
#include "router/policies/kit/rival_core.h"
#include "tests/core/core_test_support.h"

namespace penstock::bench {
namespace {

struct Scenario {
  int replicas = 2;
  int64_t pool_tokens = 40'000;
  bool fatal = false;
  bool enforce_goals = true;
};

SimulatedFleetSpec SpecOf(const Scenario& scenario) {
  testing::FleetOptions options;
  options.replicas = scenario.replicas;
  options.pool_tokens = scenario.pool_tokens;
  options.fatal = scenario.fatal;
  options.enforce_goals = scenario.enforce_goals;
  options.queue = Duration::Seconds(600);
  options.shared_gpu = true;
  SimulatedFleetSpec spec;
  spec.fleet = testing::MakeFleet(options);
  spec.gpus = {simulated::Sharing::kTimeSlicing};
  for (ReplicaSpec& replica : spec.fleet.replicas) {
    replica.pools[0].footprint = Footprint::InTokens(Tokens(scenario.fatal ? 1 : 16));
    replica.max_context = Tokens(std::min<int64_t>(scenario.pool_tokens, 50'000));
    SimulatedReplica engine;
    engine.limits.kv_tokens = Tokens(scenario.pool_tokens);
    engine.limits.block = Tokens(scenario.fatal ? 1 : 16);
    engine.limits.max_context = replica.max_context;
    engine.limits.overflow = scenario.fatal ? simulated::Overflow::kError : simulated::Overflow::kPreempt;
    engine.coefficients = replica.prior;
    engine.gpus = {0};
    spec.replicas.push_back(engine);
  }
  return spec;
}

std::vector<SimulatedArrival> RandomArrivals(uint64_t seed, int count, double per_second, double vanish_share) {
  Generator generator(seed);
  std::vector<SimulatedArrival> arrivals;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += generator.Exponential(1 / per_second);
    SimulatedArrival arrival;
    arrival.at = Duration::Seconds(at);
    arrival.service_class = ClassId(static_cast<uint32_t>(generator.Next() % 3));
    arrival.tenant = TenantId(generator.Next() % 5);
    arrival.prompt = Tokens(std::min<int64_t>(8000, 1 + static_cast<int64_t>(generator.LogNormal(6, 1))));
    arrival.output = Tokens(std::min<int64_t>(2000, 1 + static_cast<int64_t>(generator.LogNormal(4.5, 1))));
    arrival.observed = generator.Uniform() > 0.2;
    if (generator.Uniform() < vanish_share) arrival.vanishes = Duration::Seconds(generator.Exponential(1));
    arrivals.push_back(arrival);
  }
  return arrivals;
}

class SeededSimulation : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SeededSimulation, EveryRequestEndsAndEveryPromiseIsReturned) {
  SCOPED_TRACE("replay: --gtest_filter=*EveryRequestEnds*/" + std::to_string(GetParam() - 1));
  PenstockCore core;
  SimulationOptions options;
  options.seed = GetParam();
  FleetSimulation simulation(SpecOf({}), core, options);
  const SimulationOutcome outcome = simulation.Run(RandomArrivals(GetParam(), 600, 30, 0.2));
  for (const RequestRecord& record : outcome.records) {
    EXPECT_TRUE(record.fate != Fate::kFailed || record.reason == "client_gone") << record.reason;
  }
  for (const PoolView& pool : outcome.final_view.pools) {
    EXPECT_EQ(pool.promised, Amount(0));
    EXPECT_EQ(pool.held, Amount(0));
    EXPECT_EQ(pool.forecast_peak, Amount(0));
  }
  EXPECT_EQ(outcome.final_view.queued_requests, 0);
  EXPECT_EQ(outcome.final_view.queued_bytes, Bytes(0));
}

TEST_P(SeededSimulation, AFatalPoolNeverOverflowsAndNobodyIsCutShort) {
  SCOPED_TRACE("replay: --gtest_filter=*AFatalPool*/" + std::to_string(GetParam() - 1));
  Scenario scenario;
  scenario.replicas = 1;
  scenario.pool_tokens = 8192;
  scenario.fatal = true;
  scenario.enforce_goals = false;
  PenstockCore core;
  SimulationOptions options;
  options.seed = GetParam();
  FleetSimulation simulation(SpecOf(scenario), core, options);
  Generator generator(GetParam());
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 200; ++i) {
    SimulatedArrival arrival;
    arrival.at = Duration::Milliseconds(5 * i);
    arrival.service_class = ClassId(1);
    arrival.prompt = Tokens(200 + static_cast<int64_t>(generator.Next() % 600));
    arrival.output = Tokens(std::min<int64_t>(7000, 1 + static_cast<int64_t>(generator.LogNormal(5, 1.2))));
    arrival.observed = i % 3 != 0;
    arrivals.push_back(arrival);
  }
  const SimulationOutcome outcome = simulation.Run(arrivals);
  EXPECT_EQ(outcome.overflow_failures, 0);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_EQ(outcome.records[i].fate, Fate::kFinished) << i << " " << outcome.records[i].reason;
    EXPECT_EQ(outcome.records[i].tokens.tokens(), arrivals[i].output.value()) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeededSimulation, ::testing::Range<uint64_t>(1, 13));

TEST(CoreReplay, ARecordedLogReplaysToTheSameBytes) {
  PenstockCore core;
  FleetSimulation simulation(SpecOf({}), core, {});
  std::string events;
  std::string actions;
  simulation.Observe([&](const Event& event, Instant now, const std::vector<Action>& out) {
    events += FormatEvent(now, event) + "\n";
    for (const Action& action : out) actions += FormatAction(now, action) + "\n";
  });
  simulation.Run(RandomArrivals(42, 400, 40, 0.1));
  const std::string path = ::testing::TempDir() + "penstock_events.log";
  std::ofstream(path) << events;

  PenstockCore again;
  std::string replayed;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto event = ParseEvent(line);
    ASSERT_TRUE(event.ok()) << event.status();
    std::vector<Action> out;
    again.Apply(event->second, event->first, out);
    for (const Action& action : out) replayed += FormatAction(event->first, action) + "\n";
  }
  EXPECT_GT(actions.size(), 10'000u);
  EXPECT_TRUE(replayed == actions);
}

TEST(CoreReplay, EqualSeedsGiveEqualRuns) {
  std::string logs[2];
  for (std::string& log : logs) {
    PenstockCore core;
    FleetSimulation simulation(SpecOf({}), core, {});
    simulation.Observe([&](const Event&, Instant now, const std::vector<Action>& out) {
      for (const Action& action : out) log += FormatAction(now, action) + "\n";
    });
    simulation.Run(RandomArrivals(7, 300, 40, 0.1));
  }
  EXPECT_TRUE(logs[0] == logs[1]);
}

TEST(CoreAdmission, UnderOverloadMoreTokensArriveInTimeThanThroughAThresholdGate) {
  double goodput[2];
  double share[2];
  for (int i = 0; i < 2; ++i) {
    std::unique_ptr<AdmissionCore> core;
    if (i == 0) {
      core = MakeRival<ThresholdGate>();
    } else {
      core = std::make_unique<PenstockCore>();
    }
    SimulationOptions options;
    options.window = Duration::Seconds(60);
    FleetSimulation simulation(SpecOf({}), *core, options);
    std::vector<SimulatedArrival> arrivals = RandomArrivals(3, 2400, 40, 0);
    for (SimulatedArrival& arrival : arrivals) {
      arrival.service_class = ClassId(1);
      arrival.observed = true;
    }
    const Results results = Summarise(simulation.Run(arrivals).records, options.window);
    goodput[i] = results.goodput_tokens_per_s;
    share[i] = results.on_time_share;
  }
  EXPECT_GT(goodput[1], goodput[0]);
  EXPECT_GT(share[1], share[0]);
}

TEST(CoreAdmission, AReplicaFourTimesSlowerIsLearnedAndGetsFewerRequests) {
  SimulatedFleetSpec spec = SpecOf({});
  spec.gpus.push_back(simulated::Sharing::kTimeSlicing);
  spec.fleet.replicas[1].gpus = {1};
  spec.replicas[1].gpus = {1};
  spec.replicas[1].slowdown = 4;
  PenstockCore core;
  FleetSimulation simulation(spec, core, {});
  std::vector<SimulatedArrival> arrivals = RandomArrivals(5, 1500, 25, 0);
  for (SimulatedArrival& arrival : arrivals) {
    arrival.service_class = ClassId(1);
    arrival.observed = true;
  }
  const SimulationOutcome outcome = simulation.Run(arrivals);
  EXPECT_NEAR(outcome.final_view.replicas[0].step_factor, 1, 0.3);
  EXPECT_NEAR(outcome.final_view.replicas[1].step_factor, 4, 1);
  const Results results = Summarise(outcome.records, Duration::Seconds(60));
  EXPECT_LT(results.per_replica.at("replica1").offered * 3 / 2, results.per_replica.at("replica0").offered);
}

TEST(CoreAdmission, TheTimeOfAnApiServerIsLearnedBesideTheStepsOfItsEngine) {
  SimulatedFleetSpec spec = SpecOf({});
  spec.gpus.push_back(simulated::Sharing::kTimeSlicing);
  spec.fleet.replicas[1].gpus = {1};
  spec.replicas[1].gpus = {1};
  spec.replicas[1].host_time = Duration::Milliseconds(60);
  PenstockCore core;
  FleetSimulation simulation(spec, core, {});
  std::vector<SimulatedArrival> arrivals = RandomArrivals(6, 600, 0.7, 0);
  for (SimulatedArrival& arrival : arrivals) arrival.observed = true;
  const SimulationOutcome outcome = simulation.Run(arrivals);
  EXPECT_NEAR(outcome.final_view.replicas[0].host_time, 0, 0.003);
  EXPECT_NEAR(outcome.final_view.replicas[1].host_time, 0.06, 0.005);
  EXPECT_NEAR(outcome.final_view.replicas[1].step_factor, 1, 0.15);
}

TEST(CoreAdmission, BelowTheKneeNothingIsRefusedAndNobodyIsLate) {
  PenstockCore core;
  FleetSimulation simulation(SpecOf({}), core, {});
  std::vector<SimulatedArrival> arrivals = RandomArrivals(5, 400, 3, 0);
  for (SimulatedArrival& arrival : arrivals) {
    arrival.service_class = ClassId(1);
    arrival.observed = true;
  }
  const Results results = Summarise(simulation.Run(arrivals).records, Duration::Seconds(130));
  EXPECT_EQ(results.RefusedCount(), 0);
  EXPECT_GE(results.on_time_share, 0.995);
}

TEST(CoreAdmission, PromptsThatNobodyCouldServeInTimeDoNotBlockTheOthers) {
  Scenario scenario;
  scenario.pool_tokens = 200'000;
  SimulatedFleetSpec spec = SpecOf(scenario);
  int64_t refused[2];
  for (const bool apart : {false, true}) {
    CoreRules rules;
    rules.best_effort_apart = apart;
    PenstockCore core(std::move(rules));
    FleetSimulation simulation(spec, core, {});
    std::vector<SimulatedArrival> arrivals = RandomArrivals(5, 1200, 12, 0);
    for (size_t i = 300; i < 330; ++i) arrivals[i].prompt = Tokens(45'000);
    for (SimulatedArrival& arrival : arrivals) {
      arrival.service_class = ClassId(1);
      arrival.observed = true;
    }
    refused[apart ? 1 : 0] = Summarise(simulation.Run(arrivals).records, Duration::Seconds(100)).RefusedCount();
  }
  EXPECT_LT(refused[1] * 2, refused[0]);
}

}  // namespace
}  // namespace penstock::bench
