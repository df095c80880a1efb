// The memory of the prompt blocks that several requests of one replica share: counted once in each of its pools.
//
// The blocks that a request has alone are part of its own lease and forecast. Shared blocks have a lease of their own.
// Invariant: the holdings are those of the lease, and each pool's growth has the same amounts as shared memory. Without
// a shared block there is no lease. Owned by RunningRequests. Follow is O(pools of the replica).
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_SHARED_MEMORY_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_SHARED_MEMORY_H_

#include <optional>

#include "router/core/books/fleet_state.h"

namespace penstock {

// The memory of a request's leading tokens that the pool counts as shared. Nothing in a pool whose overflow is fatal:
// such engines keep a copy per request.
Amount SharedPart(const Footprint& footprint, Tokens tokens, const PoolState& pool);

class SharedMemory {
 public:
  // Brings the pools and the ledger in line with the replica's shared blocks. Own blocks of `mover` became shared, or
  // shared ones its own again; it may be null.
  void Follow(const ReplicaState& replica, const RequestState* mover, FleetState& fleet);

  // One entry per pool of the replica, as of the last Follow; empty without a shared block.
  const Holdings& holdings() const { return holdings_; }

 private:
  Holdings holdings_;
  std::optional<LeaseId> lease_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_SHARED_MEMORY_H_
