// Evicts running requests of lower, evictable classes, so that a request of a class above them need not wait.
//
// A waiting request lacks memory or batch rows on each replica that could take it. It gets the place of requests whose
// class stands below its own and is evictable. The lowest class goes first; in it, the request with the least GPU time
// to compute again for the memory that it gives back. A prompt that the engine has not begun costs nothing. An abort
// takes the request from its engine. It waits in its lane, and goes on later from the tokens that its client has.
// The memory that was taken from evictable classes is not theirs again at once (YieldingMemory). Else the next burst
// would evict the same work. A request that was dispatched by the guaranteed share of its class stays. Invariants: a
// request is evicted at most kMostEvictions times. Nothing is evicted where that would not be enough, or would cost
// more GPU time than the TTFT goal of the waiting request. No more is evicted than it lacks, with the memory that is on
// its way. Owned by PenstockCore. O(requests of the pool) per waiting request, at most kMostLooks of them per event.
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_EVICTION_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_EVICTION_H_

#include <optional>
#include <vector>

#include "router/core/books/lending.h"
#include "router/core/contract/action.h"
#include "router/core/placement/placement.h"
#include "router/core/relief/recalls.h"

namespace penstock {

class Eviction {
 public:
  // Times that one request is evicted.
  static constexpr int kMostEvictions = 2;

  Eviction(FleetState& fleet, const Lending& lending, const MemoryTest& memory, Recalls& recalls)
      : fleet_(fleet), lending_(lending), memory_(memory), recalls_(recalls) {}

  void StartEvent();
  // The waiting request was just tried everywhere. Returns the position of the replica on which room for it is on its
  // way now.
  std::optional<size_t> MakeRoom(const RequestState& waiting, const Placement& tried, Instant now,
                                 std::vector<Action>& actions);

 private:
  // A request that may be evicted.
  struct Victim {
    RequestState* request;
    ClassId service_class;
    double recompute;  // Seconds of GPU time.
    double room;       // Memory in the unit of the pool, or batch rows.
  };

  bool IsEvictable(const RequestState& running, const RequestState& waiting, Instant now) const;
  // Fills victims_ with those of the pool, or of the one replica, in the order in which they go.
  void FindVictims(const RequestState& waiting, const std::vector<ReplicaId>& replicas, std::optional<PoolId> pool,
                   Instant now);
  // Seconds to compute again what the first victims with so much room have computed. Infinite where all have less,
  // unless `all_are_enough`.
  double SunkCostOf(double lacking, bool all_are_enough) const;
  bool MakeMemory(const RequestState& waiting, const ReplicaState& replica, Instant now, std::vector<Action>& actions);
  bool MakeRows(const RequestState& waiting, const ReplicaState& replica, Instant now, std::vector<Action>& actions);
  void Evict(RequestState* request, Instant now, std::vector<Action>& actions);

  FleetState& fleet_;
  const Lending& lending_;
  const MemoryTest& memory_;
  Recalls& recalls_;
  std::vector<Victim> victims_;  // The memory of one search, reused by the next.
  size_t looks_ = 0;             // That this event may still take.
  size_t left_ = 0;              // Requests that this event may still evict.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_EVICTION_H_
