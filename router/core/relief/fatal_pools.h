// Relief of pools whose overflow would fail every running request: requests are aborted before such a pool is full.
//
// The memory of a request that was just aborted counts as on its way back, so one victim is taken where one is enough.
// Invariant: after Protect, a fatal pool of the replica stays below its limit for the time that an abort takes. If it
// does not, no request that may be aborted is left. Owned by PenstockCore. O(requests of the pool) per abort,
// O(replicas of the pool) where no abort is needed.
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_FATAL_POOLS_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_FATAL_POOLS_H_

#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/contract/action.h"
#include "router/core/relief/recalls.h"

namespace penstock {

class FatalPools {
 public:
  FatalPools(const FleetState& fleet, Recalls& recalls) : fleet_(fleet), recalls_(recalls) {}

  // Aborts requests of the replica's fatal pools until none of them is about to overflow.
  void Protect(const ReplicaState& replica, Instant now, std::vector<Action>& actions);

  int64_t aborts() const { return aborts_; }

 private:
  // True: the pool of the share could be full before an abort takes effect.
  bool IsInDanger(const PoolShare& share, Instant now) const;

  const FleetState& fleet_;
  Recalls& recalls_;
  int64_t aborts_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_FATAL_POOLS_H_
