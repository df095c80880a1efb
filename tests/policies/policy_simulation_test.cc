// Every policy that can be named, at its defaults and at each documented setting, in front of simulated engines.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bench/simulation/fleet_simulation.h"
#include "router/core/contract/event_log.h"
#include "router/policies/policy_factory.h"

namespace penstock::bench {
namespace {

constexpr int kReplicas = 3;

SimulatedFleetSpec SmallSpec() {
  SimulatedFleetSpec spec;
  spec.fleet.models = {{"chat"}};
  spec.fleet.classes = {
      {"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30), true, false},
      {"batch", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(60), false, false}};
  for (uint32_t i = 0; i < kReplicas; ++i) {
    ReplicaSpec replica;
    replica.name = "r" + std::to_string(i);
    replica.models = {ModelId(0)};
    spec.fleet.pools.push_back({replica.name, Amount(30'000), false, false});
    replica.pools = {{PoolId(i), Footprint::InTokens(Tokens(16))}};
    replica.gpus = {i};
    replica.prior = {10, 0.03, 0.05, 0.05, 1.5};
    replica.max_context = Tokens(30'000);
    spec.fleet.replicas.push_back(replica);
    SimulatedReplica engine;
    engine.limits.kv_tokens = Tokens(30'000);
    engine.limits.block = Tokens(16);
    engine.limits.max_context = replica.max_context;
    engine.coefficients = replica.prior;
    engine.gpus = {static_cast<int>(i)};
    spec.replicas.push_back(engine);
    spec.gpus.push_back(simulated::Sharing::kTimeSlicing);
  }
  return spec;
}

std::vector<SimulatedArrival> Arrivals(uint64_t seed, int count, double per_second, double vanish_share) {
  Generator random(seed);
  std::vector<SimulatedArrival> arrivals;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += random.Exponential(1 / per_second);
    SimulatedArrival arrival;
    arrival.at = Duration::Seconds(at);
    arrival.service_class = ClassId(static_cast<uint32_t>(random.Next() % 2));
    arrival.tenant = TenantId(random.Next() % 5);
    arrival.prompt = Tokens(std::min<int64_t>(8000, 1 + static_cast<int64_t>(random.LogNormal(6, 1))));
    arrival.output = Tokens(std::min<int64_t>(1000, 1 + static_cast<int64_t>(random.LogNormal(4.5, 0.8))));
    if (random.Uniform() < 0.3) arrival.max_output = Tokens(1000);
    arrival.observed = random.Uniform() > 0.1;
    if (random.Uniform() < vanish_share) arrival.vanishes = Duration::Seconds(random.Exponential(1));
    arrivals.push_back(arrival);
  }
  return arrivals;
}

struct Ran {
  SimulationOutcome outcome;
  std::string actions;
  std::map<uint64_t, int> refusals;
  std::map<uint64_t, int> endings;  // Refused or closed.
  int parked = 0;
};

Ran Simulate(const std::string& policy, const std::vector<SimulatedArrival>& arrivals) {
  Ran ran;
  const std::unique_ptr<AdmissionCore> core = MakePolicy(policy, 7);
  FleetSimulation simulation(SmallSpec(), *core, {});
  simulation.Observe([&](const Event& event, Instant now, const std::vector<Action>& actions) {
    if (const auto* closed = std::get_if<RequestClosed>(&event)) ++ran.endings[closed->request.value()];
    for (const Action& action : actions) {
      ran.actions += FormatAction(now, action) + "\n";
      if (std::holds_alternative<Park>(action)) ++ran.parked;
      const auto* refuse = std::get_if<Refuse>(&action);
      if (refuse == nullptr) continue;
      ++ran.refusals[refuse->request.value()];
      ++ran.endings[refuse->request.value()];
    }
  });
  ran.outcome = simulation.Run(arrivals);
  return ran;
}

std::vector<std::string> AllTexts() {
  std::vector<std::string> all;
  for (const std::string& name : KnownPolicyNames()) {
    all.push_back(name);
    for (const std::string& setting : PolicyAlternatives(name)) all.push_back(setting);
  }
  return all;
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, EveryRequestEndsExactlyOnceUnderOverload) {
  const std::vector<SimulatedArrival> arrivals = Arrivals(11, 500, 60, 0.1);
  const Ran ran = Simulate(GetParam(), arrivals);
  ASSERT_EQ(ran.outcome.records.size(), arrivals.size());
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto found = ran.endings.find(i);
    ASSERT_TRUE(found != ran.endings.end()) << "request " << i << " has no end";
    EXPECT_EQ(found->second, 1) << "request " << i;
    const RequestRecord& record = ran.outcome.records[i];
    EXPECT_TRUE(record.fate != Fate::kFailed || record.reason == "client_gone") << i << " " << record.reason;
  }
  EXPECT_EQ(ran.outcome.final_view.queued_requests, 0);
  EXPECT_EQ(ran.outcome.final_view.queued_bytes, Bytes(0));
  for (const PoolView& pool : ran.outcome.final_view.pools) EXPECT_EQ(pool.held, Amount(0));
}

TEST_P(EveryPolicy, EqualSeedsGiveEqualActions) {
  const std::vector<SimulatedArrival> arrivals = Arrivals(12, 250, 60, 0.1);
  EXPECT_EQ(Simulate(GetParam(), arrivals).actions, Simulate(GetParam(), arrivals).actions);
}

TEST_P(EveryPolicy, BelowCapacityNothingIsRefusedAndNobodyIsLeftOut) {
  const std::vector<SimulatedArrival> arrivals = Arrivals(13, 200, 4, 0);
  const Ran ran = Simulate(GetParam(), arrivals);
  EXPECT_TRUE(ran.refusals.empty()) << ran.refusals.size() << " refused";
  std::map<std::string, int> per_replica;
  for (const RequestRecord& record : ran.outcome.records) {
    EXPECT_EQ(record.fate, Fate::kFinished) << record.reason;
    ++per_replica[record.replica];
  }
  EXPECT_EQ(per_replica.size(), static_cast<size_t>(kReplicas));
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::ValuesIn(AllTexts()), TestName);

// Those that have no reason to hold a request, whatever engines report.
class NeverHolding : public ::testing::TestWithParam<const char*> {};

TEST_P(NeverHolding, ForwardsEveryArrivalAtOnceEvenUnderOverload) {
  const Ran ran = Simulate(GetParam(), Arrivals(14, 400, 60, 0));
  EXPECT_EQ(ran.parked, 0);
  EXPECT_TRUE(ran.refusals.empty());
}

INSTANTIATE_TEST_SUITE_P(Policies, NeverHolding,
                         ::testing::Values("round_robin", "least_request", "power_of_two", "chwbl", "prequal",
                                           "cache_aware", "least_load", "dynamo_cost"));

}  // namespace
}  // namespace penstock::bench
