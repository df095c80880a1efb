// The running request of a pool that is aborted for the sake of the others.
//
// Only a request that can be placed again without its client seeing it. The oldest request of the pool is never taken,
// so that the pool as a whole makes progress. Of the others, the one with the fewest tokens to compute again.
// A pure function of the books; O(requests of the pool).
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_VICTIMS_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_VICTIMS_H_

#include "router/core/books/fleet_state.h"

namespace penstock {

// Null where no request may be taken.
RequestState* VictimIn(const PoolState& pool, const FleetState& fleet);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_VICTIMS_H_
