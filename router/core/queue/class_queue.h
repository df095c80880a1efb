// The waiting requests of one class of one model, in three orders, and the credit of the class.
//
// A class earns credit by the dispatches of the classes above it, while it waits, and pays with its own dispatches. An
// evictable class may owe: what it got in quiet times counts as its share of the burst that follows. A debt fades
// within kDebtSeconds or so, so under a lasting load the class has its share.
//
// Invariant: a request stands in one of the orders and in the arrivals from Insert to Erase. Owned by Lane.
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_

#include <algorithm>

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
  // The classes above it dispatched: it earns so many tokens, up to the prompt of its head and a step budget more. It
  // is ready.
  void Earn(double tokens, Instant now);
  // A request of the class was dispatched.
  void Pay(double tokens, Instant now);
  // Credit saved for nobody is lost; a debt stays.
  void LoseCredit() { credit = std::min(credit, 0.0); }
  // The ordinary request that arrived first, where its promotion is due; null: none. Where it stands behind too many
  // others, the first of the order. O(1) as a rule.
  RequestState* Starved(Instant now) const;

  FairOrder waiting;
  PlaceOrder best_effort;
  PlaceOrder parked;
  absl::btree_set<RequestState*, Earlier> arrivals;
  double share = ClassSpec().share;
  Duration promote_after = Duration::Infinite();
  bool evictable = false;
  double credit = 0;  // Tokens.
  Instant faded;      // When a debt was last brought up to date.

 private:
  void Fade(Instant now);
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_CLASS_QUEUE_H_
