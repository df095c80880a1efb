// The waiting requests of one class of one model, in three orders, and the credit of the class.
//
// Invariant: a request stands in one of the orders and in the arrivals from Insert to Erase. Owned by Lane.
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_

#include "absl/container/btree_set.h"
#include "router/core/contract/fleet.h"
#include "router/core/queue/fair_order.h"

namespace penstock {

struct ClassQueue {
  struct Earlier {
    bool operator()(const RequestState* a, const RequestState* b) const { return a->sequence < b->sequence; }
  };

  explicit ClassQueue(FairTerms* terms) : waiting(terms) {}

  void Insert(RequestState* request);
  void Erase(RequestState* request);
  bool empty() const { return arrivals.empty(); }
  // True: nobody refers to it.
  bool idle() const { return arrivals.empty() && IsIdle(waiting.ledger()); }
  bool ready() const { return !waiting.empty() || !best_effort.empty(); }
  // The first request. Requires one.
  RequestState* Head() const {
    if (!waiting.empty()) return waiting.First();
    return best_effort.empty() ? *parked.begin() : *best_effort.begin();
  }
  // The ordinary request that has waited longest for promotion, where that is due; null: none.
  RequestState* Starved(Instant now) const;

  FairOrder waiting;
  PlaceOrder best_effort;
  PlaceOrder parked;
  absl::btree_set<RequestState*, Earlier> arrivals;
  double share = ClassSpec().share;
  Duration promote_after = Duration::Infinite();
  double credit = 0;  // Tokens.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_
