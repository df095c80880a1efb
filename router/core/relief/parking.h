// Parks streams that are far ahead of their due times, so that their memory serves others meanwhile.
//
// A stream is parked where a waiting request fits everywhere but in memory, or where a pool is nearly full. Of the
// streams that may be parked (books/lending.h), the one that is furthest ahead goes first. It stays away longest for
// one computation of its context. An abort takes it from its engine; the request waits in its lane and is placed again
// before its next token is due. Invariant: no more streams are parked than the memory asks for, with what earlier
// aborts will give back. Owned by PenstockCore. O(classes x kLookedAt) per parked stream, at most kMostParkedPerEvent
// per event.
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_PARKING_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_PARKING_H_

#include <optional>
#include <vector>

#include "router/core/books/forecasts.h"
#include "router/core/books/lending.h"
#include "router/core/books/request_table.h"
#include "router/core/contract/action.h"
#include "router/core/relief/recalls.h"

namespace penstock {

class Parking {
 public:
  Parking(const FleetState& fleet, const Forecasts& forecasts, const Lending& lending, const RequestTable& requests,
          Recalls& recalls)
      : fleet_(fleet), forecasts_(forecasts), lending_(lending), requests_(requests), recalls_(recalls) {}

  void StartEvent();
  // Only memory keeps the waiting request from joining one of these replicas, by position. Returns the one on which
  // room for it is on its way now.
  std::optional<size_t> MakeRoom(const RequestState& waiting, const std::vector<size_t>& crowded, Instant now,
                                 std::vector<Action>& actions);
  // Parks streams of the replica's pools that are nearly full.
  void Relieve(const ReplicaState& replica, Instant now, std::vector<Action>& actions);

 private:
  // The memory that the pool lacks for `more`, in its unit.
  double Shortage(PoolId pool, double more, Instant now) const;
  // True: parking could give the pool room for `more`.
  bool CouldHold(PoolId pool, double more, bool returns, Instant now) const;
  bool CouldHold(const RequestState& waiting, const ReplicaState& replica, Instant now) const;
  // Parks streams of the pool until it lacks nothing, as far as it has any.
  void Free(PoolId pool, double more, Instant now, std::vector<Action>& actions);
  // The stream of the pool that is furthest ahead of its due times and may be parked; null: there is none.
  RequestState* FurthestAhead(PoolId pool, Instant now);

  const FleetState& fleet_;
  const Forecasts& forecasts_;
  const Lending& lending_;
  const RequestTable& requests_;
  Recalls& recalls_;
  std::vector<RequestId> ahead_;  // The memory of one search, reused by the next.
  size_t left_ = 0;               // Streams that this event may still park.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_PARKING_H_
