// The waiting requests of one class of one model in the order in which they are tried: by tenant, then by place.
//
// Between tenants the ledger decides (service_ledger.h): the least served goes first, and after each request it is
// taken to have got that request's service. Within a tenant the earliest place goes first. Requests that an engine had
// before are paid for and stand in front of all, by place. Without shares (FairnessMode::kNone), all
// are one tenant and no service is counted.
//
// Others may be ahead of a waiting tenant by less and less while it gets nothing. With kMostLead alone, its first
// request could wait for longer than its TTFT goal until a pool has drained for it. For a tenant of many waiting
// requests it stays: that one is behind because it sends more than its share.
//
// Invariant: a request stands in one list of the order from Insert to Erase; a tenant with a list waits in the ledger.
// Owned by Lane. Insert and Erase are O(log n); an enumeration costs O(log tenants) per request.
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_FAIR_ORDER_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_FAIR_ORDER_H_

#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "router/core/books/request_state.h"
#include "router/core/tenants/running_charges.h"
#include "router/core/tenants/service_ledger.h"

namespace penstock {

// The earliest place first.
struct EarlierPlace {
  // Finds a place for a request that it may not change.
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name.
  bool operator()(const RequestState* a, const RequestState* b) const {
    return std::pair(a->waiting.place, a->sequence) < std::pair(b->waiting.place, b->sequence);
  }
};
using PlaceOrder = absl::btree_set<RequestState*, EarlierPlace>;

class FairOrder {
 public:
  // Once a tenant got nothing for this part of its TTFT goal, others may be ahead by kLeastLead of the charges that
  // run. Chosen by bench/fairness.sh.
  static constexpr double kPatience = 0.3;
  static constexpr double kLeastLead = 0.025;
  // Waiting requests of such a tenant, at most. With one, a tenant of weight 4 had 65 % on time instead of 88 %.
  static constexpr size_t kFew = 4;

  explicit FairOrder(FairTerms* terms) : terms_(terms), ledger_(terms) { Configure(Duration()); }

  // The fairness may have changed, and the TTFT goal. The requests in it stay.
  void Configure(Duration ttft);

  void Insert(RequestState* request);
  void Erase(RequestState* request);
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The first in order. Requires one.
  RequestState* First() const;
  // Visits in order until `visit` returns false. Requests of tenants that are too far ahead are left out, where
  // `running` runs.
  void InOrder(const RunningCharges& running, Instant now, absl::FunctionRef<bool(RequestState*)> visit) const;
  // Every request, in a fixed order.
  void All(std::vector<RequestState*>& out) const;
  // Requests ahead of this one, whether it is in the order or not; `most` where there are more or its tenant is too far
  // ahead.
  int64_t Ahead(const RequestState& request, const RunningCharges& running, Instant now, int64_t most) const;
  // True: the request's tenant is not too far ahead of others.
  bool MayGo(const RequestState& request, const RunningCharges& running, Instant now) const;
  // True: a tenant that waits is too far ahead of others.
  bool HoldsBack(const RunningCharges& running, Instant now) const;
  // The request, which waits here, holds no other tenant back any more.
  void Excuse(RequestState* request);

  // The request, which is not in the order, goes to an engine: its tenant is charged unless it was before.
  void Charge(RequestState& request, Instant now);
  // The request ended after so much service, and is charged no more.
  void Settle(RequestState& request, double used, Instant now);

  const ServiceLedger& ledger() const { return ledger_; }
  // True: sizes, heads and the ledger are those of the requests. O(requests).
  bool SumHolds() const;

 private:
  struct Cursor;

  bool apart() const { return spec_.mode != FairnessMode::kNone; }
  // The tenant under which the request stands.
  TenantId KeyOf(const RequestState& request) const { return apart() ? request.arrived.tenant : TenantId(); }
  bool IsPaid(const RequestState& request) const { return apart() && request.service.paid; }
  static TenantHead HeadOf(const RequestState& request) {
    return {request.waiting.place, request.sequence, request.service.excused, request.service.expected,
            request.waiting.since};
  }
  const PlaceOrder* ListOf(TenantId tenant) const;
  // Whoever waits with a higher counter must wait on. Infinite where nobody is held back.
  double Most(const RunningCharges& running, Instant now) const;
  void Visit(double most, absl::FunctionRef<bool(RequestState*, const TenantRank&)> visit) const;

  FairTerms* terms_;
  ServiceLedger ledger_;
  FairnessSpec spec_;  // As of the last Configure.
  Duration ttft_;      // The goal of the class; 0: none is known.
  PlaceOrder paid_;
  absl::flat_hash_map<TenantId, PlaceOrder> tenants_;
  size_t size_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_FAIR_ORDER_H_
