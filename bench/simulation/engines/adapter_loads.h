// The adapters that simulated engines load: by the router's orders, or by themselves for a request that names one.
//
// A load takes the configured time, up to a tenth more or less. An engine that has as many adapters as it may have
// gives up the one that was used longest ago, unless the order names one. Engines load by themselves for policies that
// give no orders. Invariant: an engine has no more adapters than it may. One owner. O(adapters of a replica).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_ADAPTER_LOADS_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_ADAPTER_LOADS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/generator.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

class AdapterLoads {
 public:
  static constexpr double kNoise = 0.1;

  // Both outlive this object.
  AdapterLoads(const SimulatedFleetSpec& spec, EventQueue& events);

  // The engine begins to load; kAdapterEnds follows. `able`: it is up.
  void Begin(const LoadAdapter& order, bool able);
  // The order ends.
  AdapterResidency End(uint64_t order);
  // A request for the model reaches its engine. True: the engine has to load first, and kSubmit follows with the same
  // numbers.
  bool Delays(size_t replica, ModelId model, uint64_t request, uint64_t tries);
  // The engine has none any more. Returns those that it had.
  std::vector<AdapterResidency> Forget(size_t replica);

  int64_t loads() const { return loads_; }
  int64_t failed() const { return failed_; }

 private:
  struct Adapter {
    ModelId model;
    Instant ready_at;
    Instant used_at;
  };
  struct UnderWay {
    LoadAdapter order;
    Instant since;
    bool fails = false;
  };

  bool OnDemand(size_t replica, ModelId model) const;
  Duration TimeOf(size_t replica);
  // The time until the engine has the adapter.
  Duration Use(size_t replica, ModelId model);
  void Enter(size_t replica, ModelId model, Instant ready_at, std::optional<ModelId> instead_of);

  const SimulatedFleetSpec& spec_;
  EventQueue& events_;
  std::vector<std::vector<Adapter>> adapters_;  // One list per replica.
  std::vector<UnderWay> orders_;                // All so far.
  Generator generator_{11};
  int64_t loads_ = 0;
  int64_t failed_ = 0;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_ADAPTER_LOADS_H_
