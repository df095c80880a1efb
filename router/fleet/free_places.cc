#include "router/fleet/free_places.h"

#include <algorithm>

#include "config/values/capacity.h"
#include "router/core/contract/vacancy.h"

namespace penstock {

PoolId PoolFor(Fleet& fleet, FreePlaces& free, const std::string& name, bool in_bytes) {
  // A pool whose unit changes is another pool: amounts promised in the old unit run out in the old one.
  for (uint32_t i = 0; i < fleet.pools.size(); ++i) {
    if (fleet.pools[i].name == name && fleet.pools[i].in_bytes == in_bytes) return PoolId(i);
  }
  const uint32_t place = FreePlaces::Take(free.pools, fleet.pools.size());
  if (place == fleet.pools.size()) fleet.pools.emplace_back();
  fleet.pools[place] = PoolSpec{name, Amount(0), in_bytes, false};
  return PoolId(place);
}

uint32_t GpuFor(Fleet& fleet, FreePlaces& free, const std::string& name) {
  for (uint32_t i = 0; i < fleet.gpus.size(); ++i) {
    if (fleet.gpus[i].name == name) return i;
  }
  const uint32_t place = FreePlaces::Take(free.gpus, fleet.gpus.size());
  if (place == fleet.gpus.size()) fleet.gpus.emplace_back();
  fleet.gpus[place] = GpuSpec{name, Bytes(0)};
  return place;
}

ReplicaSpec VacantReplica() {
  ReplicaSpec vacant;
  vacant.removed = true;
  return vacant;
}

std::vector<uint32_t> VacateEntries(const std::vector<ReplicaId>& quiet, std::vector<FleetEntry>& entries) {
  std::vector<bool> leaves(entries.size(), false);
  for (const ReplicaId replica : quiet) {
    const FleetEntry& entry = entries[replica.value()];
    leaves[replica.value()] = entry.removed && !entry.vacant;
  }
  // The ranks of an engine refer to the first.
  std::vector<bool> stays(entries.size(), false);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!leaves[i] && !entries[i].vacant) stays[entries[i].first] = true;
  }
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (leaves[i] && !stays[entries[i].first]) places.push_back(i);
  }
  for (const uint32_t place : places) {
    entries[place] = FleetEntry();
    entries[place].first = place;
    entries[place].removed = entries[place].vacant = true;
  }
  return places;
}

std::vector<bool> NamedClasses(const Config& config, const Fleet& fleet) {
  const auto named = [&config](const ClassSpec& spec) {
    return std::any_of(config.classes.begin(), config.classes.end(),
                       [&spec](const ClassConfig& given) { return given.name == spec.name; });
  };
  std::vector<bool> found(fleet.classes.size());
  std::transform(fleet.classes.begin(), fleet.classes.end(), found.begin(), named);
  return found;
}

std::vector<uint32_t> VacateClasses(const Config& config, const std::vector<uint32_t>& quiet, Fleet& fleet) {
  const std::vector<bool> named = NamedClasses(config, fleet);
  std::vector<uint32_t> vacated;
  for (const uint32_t id : quiet) {
    if (named[id] || IsVacant(fleet.classes[id])) continue;
    fleet.classes[id] = ClassSpec();
    vacated.push_back(id);
  }
  return vacated;
}

void VacateUnused(const Config& config, const std::vector<bool>& idle_pools, Fleet& fleet, Vacated& vacated) {
  std::vector<bool> pool_used(fleet.pools.size(), false);
  std::vector<bool> gpu_used(fleet.gpus.size(), false);
  for (const ReplicaSpec& replica : fleet.replicas) {
    for (const PoolShare& share : replica.pools) pool_used[share.pool.value()] = true;
    for (const uint32_t gpu : replica.gpus) gpu_used[gpu] = true;
  }
  for (uint32_t i = 0; i < fleet.pools.size(); ++i) {
    const bool idle = i < idle_pools.size() && idle_pools[i];
    if (pool_used[i] || !idle || IsVacant(fleet.pools[i])) continue;
    fleet.pools[i] = PoolSpec();
    vacated.pools.push_back(i);
  }
  for (uint32_t i = 0; i < fleet.gpus.size(); ++i) {
    if (gpu_used[i] || IsVacant(fleet.gpus[i]) || FindGpu(config, fleet.gpus[i].name) != nullptr) continue;
    fleet.gpus[i] = GpuSpec();
    vacated.gpus.push_back(i);
  }
}

}  // namespace penstock
