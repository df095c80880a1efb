// Places of a fleet that nobody has.
//
// Ids are places. A replica that left keeps its place as a tombstone while anything names it. Then the place becomes
// vacant: its description is empty, and all that was learned there is forgotten. Only a place that the core has seen
// vacant is given to another replica. So no news of the old one reaches the new one.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_

#include "router/core/contract/fleet.h"

namespace penstock {

inline bool IsVacant(const ReplicaSpec& replica) {
  return replica.removed && replica.name.empty() && replica.models.empty() && replica.gpus.empty();
}
inline bool IsVacant(const PoolSpec& pool) { return pool.name.empty() && pool.capacity == Amount(0); }
inline bool IsVacant(const GpuSpec& gpu) { return gpu.name.empty(); }

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_VACANCY_H_
