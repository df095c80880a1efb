// Gives the GPUs and the elastic memories of a configuration their positions in a simulated fleet, as replicas name
// them.
//
// Invariant: a name has one position. One owner. A call costs O(GPUs).
#ifndef PENSTOCK_APP_SIMULATE_GPU_PLACES_H_
#define PENSTOCK_APP_SIMULATE_GPU_PLACES_H_

#include <map>
#include <string>
#include <vector>

#include "backends/simulated/engine/engine_spec.h"
#include "bench/simulation/fleet_simulation.h"
#include "config/config.h"

namespace penstock {

class GpuPlaces {
 public:
  // Both outlive this object. New GPUs and memories are added to `spec`.
  GpuPlaces(const Config& config, bench::SimulatedFleetSpec& spec) : config_(config), spec_(spec) {}

  // A replica that names no GPU has one of its own.
  std::vector<int> GpusOf(const ReplicaConfig& replica);
  // -1: the engine has memory of its own.
  int ElasticOf(const simulated::EngineSpec& engine);

 private:
  double PriceOf(const std::string& name) const;
  int PlaceOf(const std::string& name, simulated::Sharing sharing);

  const Config& config_;
  bench::SimulatedFleetSpec& spec_;
  std::map<std::string, int> gpus_;
  std::map<std::string, int> elastic_;
};

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_GPU_PLACES_H_
