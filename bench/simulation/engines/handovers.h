// The requests of a simulation that two engines serve: where each one is between them.
//
// The prefill engine computes the prompt and keeps its cache. The decode engine gets the request once that cache is
// handed over, which takes a time per token. Invariant: a prefill engine keeps the cache of a request only while its
// entry is here. One owner; a call costs O(1).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_HANDOVERS_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_HANDOVERS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/step_machine.h"
#include "bench/simulation/engines/simulated_engines.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/action.h"

namespace penstock::bench {

class Handovers {
 public:
  // Both outlive this object.
  Handovers(const SimulatedFleetSpec& spec, SimulatedEngines& engines) : spec_(spec), engines_(engines) {}

  // The router forwards the request. Returns the engine that gets it first.
  ReplicaId Begin(const Forward& forward);
  // True: the request is at its prefill engine, or on its way there.
  bool InPrefill(uint64_t request) const;
  // True: another engine computed its prompt, and it is at its decode engine or on its way there.
  bool Handed(uint64_t request) const { return handovers_.contains(request) && !InPrefill(request); }
  // The prefill engine has computed the prompt as `sequence`. Returns the engine that goes on.
  ReplicaId Computed(uint64_t request, simulated::SequenceId sequence);
  // The time to hand over so many tokens.
  Duration TransferOf(uint64_t request, Tokens prompt) const;
  // The request reaches an engine: the part of `sequence` that depends on the other one. The cache has been handed
  // over.
  void Reach(uint64_t request, simulated::Sequence& sequence);
  // The request left its engines.
  void Drop(uint64_t request);

 private:
  struct Handover {
    ReplicaId prefill;
    ReplicaId decode;
    bool computed = false;
    bool keeps = false;                  // The prefill engine has its cache.
    simulated::SequenceId sequence = 0;  // There.
  };

  const SimulatedFleetSpec& spec_;
  SimulatedEngines& engines_;
  absl::flat_hash_map<uint64_t, Handover> handovers_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_HANDOVERS_H_
