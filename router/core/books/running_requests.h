// The requests that engines have: how they start, advance, are forecast anew, and leave.
//
// Invariant: a request that runs has one live lease and stands in the list of its replica. It is a member of the pools
// in `pools`, with the amounts of its lease. Owned by PenstockCore. Start and Leave are O(pools x horizons); an
// event renews a bounded number of forecasts.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_

#include <span>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/forecasts.h"
#include "router/core/books/request_table.h"

namespace penstock {

// Forecasts brought up to date per event, over all replicas of a Progress. Fresher contributions cost three times as
// much for a worse forecast (ARCHITECTURE.md, "One event costs the same in any fleet").
inline constexpr size_t kRefreshPerEvent = 12;

class RunningRequests {
 public:
  RunningRequests(FleetState& fleet, Forecasts& forecasts) : fleet_(fleet), forecasts_(forecasts) {}

  // The request goes to the replica. `growth` is its contribution to each of the replica's pools, `expected_ttft` the
  // seconds to its first token.
  void Start(RequestState* request, ReplicaId replica, std::span<const GrowthVector> growth, double expected_ttft,
             Instant now);
  // The request got its first token; false where it does not wait for one.
  bool TakeFirstToken(RequestState* request, Instant now);
  // Steps ended, and some streams were counted.
  void Advance(const Progress& event, const RequestTable& requests, Instant now);
  // Brings requests whose progress is forecast only up to `now`, and `most` forecasts of the replica up to date.
  void CatchUp(ReplicaState& replica, size_t most, Instant now);
  // The request leaves its replica and pools. Its lease goes on.
  void Leave(RequestState* request);

  // Requests whose progress is forecast only.
  int64_t unobserved() const { return unobserved_; }

 private:
  void AdvanceUnobserved(ReplicaState& replica, Instant now);
  // `pace` is that of the replica (Forecasts::PaceOf).
  void Refresh(RequestState* request, ReplicaState& replica, double pace, Instant now);

  FleetState& fleet_;
  Forecasts& forecasts_;
  int64_t unobserved_ = 0;
  // The memory of one Refresh, reused by the next.
  std::vector<GrowthMember> members_;
  std::vector<GrowthVector> growth_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_
