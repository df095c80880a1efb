// The residual vector of each node: what its KV memory, compute, storage and I/O CPU have left.
//
// Memory is the part of its pools that live leases are not promised. Compute is the part of the strictest TPOT goal
// that the steps of its streams leave. Both are means over its replicas that may take requests. Storage and I/O CPU
// come from its exporters; storage is less the work that requests have under way. Pure; O(replicas + pools).
#ifndef PENSTOCK_ROUTER_CORE_NODES_RESIDUALS_H_
#define PENSTOCK_ROUTER_CORE_NODES_RESIDUALS_H_

#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/contract/view.h"

namespace penstock {

std::vector<NodeView> ResidualsOf(const FleetState& fleet);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_NODES_RESIDUALS_H_
