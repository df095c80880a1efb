// A small fleet of equal replicas for tests of the shadow.
#ifndef PENSTOCK_TESTS_SHADOW_SHADOW_FLEET_H_
#define PENSTOCK_TESTS_SHADOW_SHADOW_FLEET_H_

#include <string>
#include <vector>

#include "base/generator.h"
#include "bench/simulation/engines/simulated_fleet.h"

namespace penstock {

inline Fleet ShadowFleet(uint32_t replicas, int64_t kv_tokens = 30'000) {
  Fleet fleet;
  fleet.models = {{"chat"}};
  fleet.classes = {{"standard", Duration::Seconds(2), Duration::Milliseconds(100), Duration::Seconds(30), true, false}};
  for (uint32_t i = 0; i < replicas; ++i) {
    ReplicaSpec replica;
    replica.name = "r" + std::to_string(i);
    replica.models = {ModelId(0)};
    fleet.pools.push_back({replica.name, Amount(kv_tokens), false, false});
    replica.pools = {{PoolId(i), Footprint::InTokens(Tokens(16))}};
    replica.gpus = {i};
    replica.prior = {10, 0.03, 0.05, 0.05, 1.5};
    replica.max_context = Tokens(kv_tokens);
    fleet.replicas.push_back(replica);
    fleet.gpus.push_back({"g" + std::to_string(i)});
  }
  return fleet;
}

// Requests of one model and class, with prompts and outputs of chat.
inline std::vector<bench::SimulatedArrival> ShadowArrivals(uint64_t seed, int count, double per_second) {
  bench::Generator random(seed);
  std::vector<bench::SimulatedArrival> arrivals;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    at += random.Exponential(1 / per_second);
    bench::SimulatedArrival arrival;
    arrival.at = Duration::Seconds(at);
    arrival.prompt = Tokens(std::min<int64_t>(8000, 1 + static_cast<int64_t>(random.LogNormal(6.5, 1))));
    arrival.output = Tokens(std::min<int64_t>(1000, 1 + static_cast<int64_t>(random.LogNormal(5, 0.8))));
    arrivals.push_back(arrival);
  }
  return arrivals;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SHADOW_SHADOW_FLEET_H_
