// Requests that the core takes back from their engines, and the memory that is on its way because of it.
//
// A recalled request leaves its replica and pools at once. Its memory is taken until the edge has closed the connection
// and the engine has freed it. It is not asked for twice meanwhile. A waiting request that was promised room has the
// room to itself until the end of the event. Invariant: a recall counts until its memory is back. One that the edge has
// not answered within kLongest counts no more. Owned by PenstockCore, shared by the kinds of relief. Every operation is
// O(recalls of late).
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_RECALLS_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_RECALLS_H_

#include <utility>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/running_requests.h"
#include "router/core/contract/action.h"

namespace penstock {

class Recalls {
 public:
  // Seconds that an abort takes, with the sampling that notices the need; held by the run of
  // bench/results/memory-safety.md, in which no request fails. Some engines need longer to free the memory of one that
  // the edge has answered.
  static constexpr Duration kLongest = Duration::Milliseconds(500);

  Recalls(FleetState& fleet, RunningRequests& running) : fleet_(fleet), running_(running) {}

  // Forgets recalls without an answer and the promises of the last event: those who wait ask again.
  void StartEvent(Instant now) {
    std::erase_if(recalls_, [&](const Recall& recall) {
      return now - recall.asked > kLongest && !fleet_.ledger().EndsItsDrain(recall.lease);
    });
    promises_.clear();
  }

  // Takes the running request back. Its engine may be at work for it until the edge answers with RequestRequeued.
  void Take(RequestState* request, AbortReason reason, Instant now, std::vector<Action>& actions) {
    running_.Recall(request, reason, now);
    recalls_.push_back({request->running.lease, now});
    actions.push_back(Abort{request->arrived.request, request->running.lease, reason});
  }

  // The memory that recalls of `since` or later will give back to the pool, in its unit.
  double ReturningTo(PoolId pool, Instant since = Instant()) const {
    double sum = 0;
    for (const Recall& recall : recalls_) {
      if (recall.asked >= since) sum += fleet_.ledger().DrainingOf(recall.lease, pool).AsDouble();
    }
    return sum;
  }

  // A waiting request gets so much of the pool.
  void Promise(PoolId pool, double amount) { promises_.push_back({pool, amount}); }
  double PromisedOf(PoolId pool) const {
    double sum = 0;
    for (const auto& [promised, amount] : promises_) sum += promised == pool ? amount : 0;
    return sum;
  }

 private:
  struct Recall {
    LeaseId lease;
    Instant asked;
  };

  FleetState& fleet_;
  RunningRequests& running_;
  std::vector<Recall> recalls_;  // The oldest first.
  std::vector<std::pair<PoolId, double>> promises_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_RECALLS_H_
