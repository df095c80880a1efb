// A small simulated fleet for the tests of the simulation's rooms.
#ifndef PENSTOCK_TESTS_BENCH_SIMULATION_SIMULATION_FIXTURE_H_
#define PENSTOCK_TESTS_BENCH_SIMULATION_SIMULATION_FIXTURE_H_

#include <string>
#include <vector>

#include "bench/simulation/engines/simulated_fleet.h"

namespace penstock::bench {

// Replicas r0, r1 .. of one model, each with a GPU and a pool of its own. A decode step takes 10 ms, a prefill token
// 0.1 ms at any position. The one class has a TTFT goal of 2 s and a TPOT goal of 100 ms.
inline SimulatedFleetSpec FleetOf(int replicas, int64_t kv_tokens = 4096) {
  SimulatedFleetSpec spec;
  spec.fleet.models.push_back({"m"});
  ClassSpec goals;
  goals.name = "standard";
  goals.ttft = Duration::Seconds(2);
  goals.tpot = Duration::Milliseconds(100);
  spec.fleet.classes.push_back(goals);
  for (int i = 0; i < replicas; ++i) {
    ReplicaSpec replica;
    replica.name = "r" + std::to_string(i);
    replica.models = {ModelId(0)};
    spec.fleet.replicas.push_back(replica);
    SimulatedReplica engine;
    engine.limits.kv_tokens = Tokens(kv_tokens);
    engine.coefficients = {10, 0, 0, 0.1, 0};
    engine.gpus = {i};
    spec.replicas.push_back(engine);
    spec.gpus.push_back(simulated::Sharing::kTimeSlicing);
    spec.gpu_names.push_back("gpu" + std::to_string(i));
  }
  return spec;
}

inline SimulatedArrival ArrivalAt(double seconds, int64_t prompt = 100, int64_t output = 5) {
  SimulatedArrival arrival;
  arrival.at = Duration::Seconds(seconds);
  arrival.model = ModelId(0);
  arrival.service_class = ClassId(0);
  arrival.prompt = Tokens(prompt);
  arrival.output = Tokens(output);
  return arrival;
}

}  // namespace penstock::bench

#endif  // PENSTOCK_TESTS_BENCH_SIMULATION_SIMULATION_FIXTURE_H_
