// Large prompts beside a flow of small ones, beside a simulated engine: the core lets neither kind starve the other.
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/simulation/fleet_simulation.h"
#include "tests/core/core_test_support.h"

namespace penstock::bench {
namespace {

// One engine with a cache of 20,000 tokens; the second class has a TTFT goal of 5 s.
SimulatedFleetSpec OneSmallPool(bool enforce_goals) {
  testing::FleetOptions options;
  options.pool_tokens = 20'000;
  options.enforce_goals = enforce_goals;
  options.queue = Duration::Seconds(600);
  SimulatedFleetSpec spec;
  spec.fleet = testing::MakeFleet(options);
  spec.fleet.classes[1].ttft = Duration::Seconds(5);
  spec.gpus = {simulated::Sharing::kTimeSlicing};
  ReplicaSpec& replica = spec.fleet.replicas.front();
  replica.pools[0].footprint = Footprint::InTokens(Tokens(16));
  replica.max_context = Tokens(20'000);
  SimulatedReplica engine;
  engine.limits.kv_tokens = Tokens(20'000);
  engine.limits.block = Tokens(16);
  engine.limits.max_context = replica.max_context;
  engine.coefficients = replica.prior;
  engine.gpus = {0};
  spec.replicas.push_back(engine);
  return spec;
}

// Small requests at five a second, and a large prompt every ten seconds; together they need more than the cache.
std::vector<SimulatedArrival> SmallOnesAndLargePrompts() {
  std::vector<SimulatedArrival> arrivals;
  for (int i = 0; i < 600; ++i) {
    SimulatedArrival& small = arrivals.emplace_back();
    small.at = Duration::Milliseconds(200 * i);
    small.prompt = Tokens(200);
    small.output = Tokens(300);
    if (i % 50 == 49) {
      SimulatedArrival& large = arrivals.emplace_back();
      large.at = small.at;
      large.prompt = Tokens(14'000);
      large.output = Tokens(50);
    }
  }
  for (SimulatedArrival& arrival : arrivals) arrival.service_class = ClassId(1);
  return arrivals;
}

class Starvation : public ::testing::TestWithParam<bool> {};

TEST_P(Starvation, ALargePromptFindsRoomBesideAFlowOfSmallOnes) {
  PenstockCore core;
  FleetSimulation simulation(OneSmallPool(GetParam()), core, {});
  const std::vector<SimulatedArrival> arrivals = SmallOnesAndLargePrompts();
  for (const RequestRecord& record : simulation.Run(arrivals).records) {
    EXPECT_EQ(record.fate, Fate::kFinished) << record.prompt.value() << " " << record.reason;
    EXPECT_LT(record.queue_wait.value_or(Duration::Infinite()), Duration::Seconds(8)) << record.prompt.value();
    EXPECT_TRUE(record.OnTime() || !GetParam()) << record.prompt.value();
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutADeadline, Starvation, ::testing::Bool());

// Small requests by chance, five a second times `rate`, and large prompts at even distances, each of a tenant.
std::vector<SimulatedArrival> Mixture(uint64_t seed, double rate) {
  Generator generator(seed);
  std::vector<SimulatedArrival> arrivals;
  const auto add = [&](double at, uint64_t tenant, int64_t prompt, int64_t output) {
    SimulatedArrival& arrival = arrivals.emplace_back();
    arrival.at = Duration::Seconds(at);
    arrival.tenant = TenantId(tenant);
    arrival.prompt = Tokens(prompt);
    arrival.output = Tokens(output);
    arrival.service_class = ClassId(1);
    arrival.observed = true;
  };
  double at = 0;
  for (int i = 1; i <= 30; ++i) {
    const double large = 20 * i / rate;
    while ((at += generator.Exponential(0.2 / rate)) < large) add(at, 1, 200, 300);
    add(large, 2, 14'000, 50);
    add(std::max(at, large), 1, 200, 300);
  }
  return arrivals;
}

class StarvationInAMixture : public ::testing::TestWithParam<double> {};

TEST_P(StarvationInAMixture, LargePromptsAreServedAndNobodyIsRefusedEarly) {
  const SimulatedFleetSpec spec = OneSmallPool(true);
  std::vector<RequestRecord> records;
  for (const uint64_t seed : {1, 2, 3}) {
    PenstockCore core;
    SimulationOptions options;
    options.seed = seed;
    const SimulationOutcome outcome = FleetSimulation(spec, core, options).Run(Mixture(seed, GetParam()));
    records.insert(records.end(), outcome.records.begin(), outcome.records.end());
  }
  const auto late_share = [&](bool large) {
    const auto is = [large](const RequestRecord& record) { return (record.prompt > Tokens(10'000)) == large; };
    const auto late = [&](const RequestRecord& record) { return is(record) && !record.OnTime(); };
    return static_cast<double>(std::count_if(records.begin(), records.end(), late)) /
           static_cast<double>(std::count_if(records.begin(), records.end(), is));
  };
  // At 1.4, seven small ones a second fill half of the cache: some large ones come behind a burst that outlasts them.
  EXPECT_LE(late_share(true), GetParam() > 1 ? 0.06 : 0.01);
  EXPECT_LE(late_share(false), 0.001);
  EXPECT_TRUE(std::none_of(records.begin(), records.end(), [](const RequestRecord& record) { return record.early; }));
}

INSTANTIATE_TEST_SUITE_P(Rates, StarvationInAMixture, ::testing::Values(1.0, 1.4));

// A flow of requests and rarer ones that need more memory, each of a class.
struct Flow {
  const char* name;
  int64_t pool_tokens;
  double every;  // Seconds between two requests of the flow.
  int64_t prompt, output;
  ClassId service_class;
  double rare_every;
  int64_t rare_prompt;
  double rare_ttft;
  double rare_on_time, others_on_time;  // At least.
};

class StarvationInAFlow : public ::testing::TestWithParam<Flow> {};

TEST_P(StarvationInAFlow, RareRequestsAreServedAndTheFlowHardlySuffers) {
  const Flow& flow = GetParam();
  SimulatedFleetSpec spec = OneSmallPool(true);
  spec.fleet.classes[0].ttft = Duration::Seconds(2);
  spec.fleet.classes[1].ttft = Duration::Seconds(flow.rare_ttft);
  spec.fleet.pools[0].capacity = Amount(flow.pool_tokens);
  spec.fleet.replicas[0].max_context = Tokens(flow.pool_tokens);
  spec.replicas[0].limits.kv_tokens = spec.replicas[0].limits.max_context = Tokens(flow.pool_tokens);
  std::vector<SimulatedArrival> arrivals;
  const auto add = [&](double at, uint64_t tenant, ClassId service_class, int64_t prompt, int64_t output) {
    SimulatedArrival& arrival = arrivals.emplace_back();
    arrival.at = Duration::Seconds(at);
    arrival.tenant = TenantId(tenant);
    arrival.service_class = service_class;
    arrival.prompt = Tokens(prompt);
    arrival.output = Tokens(output);
    arrival.observed = true;
  };
  double rare = flow.rare_every / 2;
  for (double at = 0; at < 300; at += flow.every) {
    if (at >= rare) {
      add(at, 2, ClassId(1), flow.rare_prompt, 50);
      rare += flow.rare_every;
    }
    add(at, 1, flow.service_class, flow.prompt, flow.output);
  }
  PenstockCore core;
  double count[2] = {}, on_time[2] = {};
  for (const RequestRecord& record : FleetSimulation(spec, core, {}).Run(arrivals).records) {
    const bool is_rare = record.prompt == Tokens(flow.rare_prompt);
    count[is_rare] += 1;
    on_time[is_rare] += record.OnTime() ? 1 : 0;
  }
  EXPECT_GE(on_time[true] / count[true], flow.rare_on_time) << count[true];
  EXPECT_GE(on_time[false] / count[false], flow.others_on_time);
}

INSTANTIATE_TEST_SUITE_P(
    Flows, StarvationInAFlow,
    ::testing::Values(Flow{"ALowerClass", 20'000, 0.2, 200, 300, ClassId(0), 20, 14'000, 30, 1, 0.98},
                      Flow{"AboutAsLarge", 24'000, 4, 11'000, 300, ClassId(1), 40, 14'000, 15, 0.9, 0.95},
                      Flow{"ASixthOfThePool", 20'000, 0.1, 200, 300, ClassId(1), 10, 3700, 5, 0.6, 0.97}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::bench
