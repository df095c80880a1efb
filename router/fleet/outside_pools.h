// The memory of GPUs that no pool has: what is left beside the weights and the KV pools of their replicas. Pure.
#ifndef PENSTOCK_ROUTER_FLEET_OUTSIDE_POOLS_H_
#define PENSTOCK_ROUTER_FLEET_OUTSIDE_POOLS_H_

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "router/core/accounts/gpu_report.h"
#include "router/fleet/fleet_book.h"

namespace penstock {

// The memory of a GPU beside the weights and pools of its replicas, as if all were awake; at least 0. Unset: one of
// these is not known. Engines take some of it for activations and graphs. O(replicas).
std::optional<Bytes> MemoryOutsidePools(const FleetBook& book, uint32_t gpu);
// The same for every GPU of the report whose place has not changed hands.
void AddMemoryOutsidePools(const FleetBook& book, GpuReport& report);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_FLEET_OUTSIDE_POOLS_H_
