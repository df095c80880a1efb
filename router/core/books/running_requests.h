// The requests that engines have: how they start, advance, are forecast anew, and leave.
//
// Invariant: a request that runs has one live lease and stands in the list of its replica. It is a member of the pools
// in `pools`, with the amounts of its lease. The leading blocks of its prompt that other requests hold too are no part
// of these amounts; SharedMemory counts them. Owned by PenstockCore. Start and Leave are O(pools x horizons + blocks of
// the prompt); an event renews a bounded number of forecasts.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_

#include <span>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/forecasts.h"
#include "router/core/books/lending.h"
#include "router/core/books/request_table.h"
#include "router/core/books/shared_memory.h"

namespace penstock {

// Forecasts brought up to date per event, over all replicas of a Progress. Fresher contributions cost three times as
// much for a worse forecast (ARCHITECTURE.md, "One event pays for a fixed number of tries").
inline constexpr size_t kRefreshPerEvent = 12;

class RunningRequests {
 public:
  // `speculation`: the tokens of a step are learned.
  RunningRequests(FleetState& fleet, Forecasts& forecasts, const RequestTable& requests, const Lending& lending,
                  bool speculation)
      : fleet_(fleet), forecasts_(forecasts), requests_(requests), lending_(lending), speculation_(speculation) {}

  // The fleet has a new description.
  void Configure();
  // The request goes to the replica. `growth` is its contribution to each of the replica's pools, `expected_ttft` the
  // seconds to its first token.
  void Start(RequestState* request, ReplicaId replica, std::span<const GrowthVector> growth, double expected_ttft,
             Instant now);
  // The request got its first token; false where it does not wait for one.
  bool TakeFirstToken(RequestState* request, Instant now);
  // Steps ended, and some streams were counted.
  void Advance(const Progress& event, Instant now);
  // Brings requests whose progress is forecast only up to `now`, and `most` forecasts of the replica up to date.
  void CatchUp(ReplicaState& replica, size_t most, Instant now);
  // The request leaves its replica and pools. Its lease goes on.
  void Leave(RequestState* request, Instant now);
  // The request leaves to be taken back from its engine. Its memory is not on its way back before EndRecall, which says
  // when the engine has freed it.
  void Recall(RequestState* request, AbortReason reason, Instant now);
  void EndRecall(const RequestState& request, Instant free_at);
  // The engine finished the request, which leaves next. Its replica learns how much of the prompt was cached: as
  // `reported`, or by the time of the first token where that is negative.
  void Finish(RequestState* request, Tokens reported);

  // True: requests whose progress is forecast only are to be advanced now. The next time is kForecastTick later.
  bool TakeForecastTick(Instant now);
  // When they are to be advanced next; Never() without such requests.
  Instant NextDue() const { return unobserved_ > 0 ? tick_due_ : Instant::Never(); }

  // Requests whose progress is forecast only.
  int64_t unobserved() const { return unobserved_; }
  // Requests of evictable classes.
  int64_t evictable() const { return evictable_; }
  // The memory that requests share, by replica.
  const std::vector<SharedMemory>& shared() const { return shared_; }
  // Adds its part of a view.
  void Show(CoreView& view) const;

 private:
  // The request takes its part of the replica's pools, with a lease; `expected` is its further output.
  void JoinPools(RequestState* request, const ReplicaState& replica, Tokens expected,
                 std::span<const GrowthVector> growth, Instant now);
  // The request needs the storage of its node no more.
  void EndStorage(RequestState* request);
  // The request's first token came now, which may show that its model needs storage.
  void LearnStorage(const RequestState& request, const ReplicaState& replica, Instant now);
  void AdvanceUnobserved(ReplicaState& replica, Instant now);
  // Blocks became shared, or the requests' own again: renews the requests in movers_ and the memory that is shared.
  // `leaving` as below.
  void MoveShared(ReplicaState& replica, const RequestState* leaving, Instant now);
  // Prompts that ended requests left have the memory that running requests leave free. The memory of `leaving` is about
  // to be free; it may be null.
  void LimitCache(ReplicaState& replica, const RequestState* leaving);
  // `pace` is that of the replica (Forecasts::PaceOf).
  void Refresh(RequestState* request, ReplicaState& replica, const DecodePace& pace, Instant now);

  FleetState& fleet_;
  Forecasts& forecasts_;
  const RequestTable& requests_;
  const Lending& lending_;
  const bool speculation_;
  std::vector<SharedMemory> shared_;  // One entry per replica.
  int64_t unobserved_ = 0;
  Instant tick_due_;  // In the past where no request was unobserved of late.
  int64_t evictable_ = 0;
  CoreCounters hits_;              // The fields about cached prompts.
  std::vector<RequestId> movers_;  // Filled and emptied within one call.
  // The memory of one Refresh, reused by the next.
  std::vector<GrowthMember> members_;
  std::vector<double> extra_tokens_;  // By replica: of a Progress event, beyond its steps.
  std::vector<GrowthVector> growth_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_RUNNING_REQUESTS_H_
