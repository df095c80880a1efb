// Places of a fleet that nobody has.
//
// Ids are places. A replica that left keeps its place as a tombstone while anything names it. Then the place becomes
// vacant: its description is empty, and all that was learned there is forgotten. Only a place that the core has seen
// vacant is given to another replica. So no news of the old one reaches the new one. The same holds for pools, GPUs,
// models and classes.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_

#include <algorithm>
#include <vector>

#include "router/core/contract/fleet.h"

namespace penstock {

inline bool IsVacant(const ReplicaSpec& replica) {
  return replica.removed && replica.name.empty() && replica.models.empty() && replica.gpus.empty();
}
inline bool IsVacant(const PoolSpec& pool) { return pool.name.empty() && pool.capacity == Amount(0); }
inline bool IsVacant(const GpuSpec& gpu) { return gpu.name.empty(); }
inline bool IsVacant(const ModelSpec& model) { return model.name.empty(); }
inline bool IsVacant(const ClassSpec& service_class) { return service_class.name.empty(); }

// The vacant ones among the models or classes, by position; empty: none is.
template <class Spec>
std::vector<bool> VacantOf(const std::vector<Spec>& places) {
  const auto vacant = [](const Spec& place) { return IsVacant(place); };
  if (std::none_of(places.begin(), places.end(), vacant)) return {};
  std::vector<bool> found(places.size());
  std::transform(places.begin(), places.end(), found.begin(), vacant);
  return found;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_
