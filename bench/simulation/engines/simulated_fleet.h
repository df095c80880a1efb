// The fleet and the arrivals of a simulation: values.
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_FLEET_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_FLEET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/simulated/machine/gpu_share.h"
#include "backends/simulated/machine/step_machine.h"
#include "base/ids.h"
#include "base/units.h"
#include "kvmodel/step_coefficients.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"

namespace penstock::bench {

// The engine of one replica. Its position is the replica's position in the fleet.
struct SimulatedReplica {
  simulated::EngineLimits limits;
  StepCoefficients coefficients;
  std::vector<int> gpus;
  double slowdown = 1;  // Multiplies the time of steps that begin in [slow_from, slow_to).
  Duration slow_from;
  Duration slow_to = Duration::Infinite();
  Duration stall;  // In that time, the engine stands still for so long in each stall_every.
  Duration stall_every;
  double noise = 0;  // Relative standard deviation of the time of a step.
  int elastic = -1;  // Position in SimulatedFleetSpec::elastic of the memory that holds its cache; -1: its own memory.
  Bytes limit{0};    // First limit of its cache in that memory; 0: it has no limit of its own.
  Duration down_from = Duration::Infinite();
  Duration down_to = Duration::Infinite();
  Duration sleep_after = Duration::Infinite();  // Idle time before it sleeps.
  Duration wake;  // Time from the first request to its first step; with ReplicaSpec::sleep of a wake that was ordered.
  Duration wake_dropped;      // The same after a sleep that dropped the weights.
  Duration host_time;         // Time of a request in the API server, before it waits for a step.
  bool cache_events = false;  // It tells the router what its prefix cache stores and removes.
};

// The storage of a node, which its replicas share.
struct SimulatedStorage {
  std::vector<size_t> replicas;
  double pressure = 0;  // Others take such a part of it, in [from, to).
  Duration from;
  Duration to = Duration::Infinite();
};

struct SimulatedFleetSpec {
  Fleet fleet;
  std::vector<SimulatedReplica> replicas;
  std::vector<simulated::Sharing> gpus;
  std::vector<std::string> gpu_names;  // One per GPU, or empty.
  std::vector<double> gpu_prices;      // Of an hour, one per GPU; 0: not known.
  std::vector<Bytes> elastic;          // Memory that the caches of several replicas share.
  std::vector<SimulatedStorage> storages;
  std::vector<std::vector<size_t>> ranks;  // The replicas of each engine with data-parallel ranks.
};

struct SimulatedArrival {
  Duration at;
  ModelId model;
  ClassId service_class;
  TenantId tenant;
  Tokens prompt{1};
  Tokens output{1};
  Tokens max_output{0};              // The client's limit; 0: none given.
  bool observed = true;              // False: answered in one piece.
  std::optional<Duration> vanishes;  // Time after the arrival at which the client goes away.
  StorageNeed storage = StorageNeed::kUnsaid;
  std::string tenant_name;       // Empty: the id's number.
  uint64_t session = 0;          // It names its conversation; 0: not known.
  uint64_t shape = 0;            // It names its program; 0: its first block stands for the system prompt.
  std::vector<uint64_t> prefix;  // Chained hashes of the prompt's full blocks of kPrefixBlock tokens.
};

// The hashes of the arrival's prompt blocks as its engine caches them: the KV of an adapter is its own.
inline std::vector<uint64_t> PrefixOf(const Fleet& fleet, const SimulatedArrival& arrival) {
  std::vector<uint64_t> prefix = arrival.prefix;
  if (!fleet.models[arrival.model.value()].base) return prefix;
  for (uint64_t& hash : prefix) hash ^= (uint64_t{arrival.model.value()} + 1) * 0x9E3779B97F4A7C15ULL;
  return prefix;
}

// The arrival without its id and the estimate of its prompt.
inline RequestArrived ArrivedOf(const Fleet& fleet, const SimulatedArrival& arrival) {
  RequestArrived event;
  event.model = arrival.model;
  event.service_class = arrival.service_class;
  event.tenant = arrival.tenant;
  event.max_output = arrival.max_output;
  event.observed = arrival.observed;
  event.storage = arrival.storage;
  event.prefix = PrefixOf(fleet, arrival);
  event.session = arrival.session;
  event.shape = arrival.shape;
  if (event.shape == 0 && !arrival.prefix.empty()) event.shape = arrival.prefix.front() + 1;
  return event;
}

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_FLEET_H_
