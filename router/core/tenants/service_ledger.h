// The service that the tenants of one class of one model got, on all replicas: virtual token counters.
//
// A counter is the charged service of a tenant over its weight. A request is charged by forecast when it is dispatched,
// and corrected to its use when it ends. A tenant that begins to wait returns to the floor, so nobody saves service
// while idle. A known tenant keeps one request of what it saved: a few requests that come together do not wait for each
// other. It also keeps one request of what it owes: corrections of others may have lowered the floor.
//
// kWeighted: the least counter goes first. The floor is the least counter of those that wait.
// kLeads: the tenants that wait are promised kGuaranteed of the service, by weight. A counter below the promise goes
// first, the least one before others. All others stand by the place of their first request. The promise is the floor,
// and a counter is at most kMostOwed above it.
//
// Others pass a tenant whose first request does not fit, but not for ever. The bound is the least counter of those that
// wait, plus kMostLead of the charges that run (FairOrder::Most), as its tenant would count them. So kWeighted has a
// bound for two tenants that wait over a window: 2 (kMostLead x running charges + 2 x largest charge). None gets more
// service for its weight than the other by more. The bound of VTC is larger.
//
// Invariant: a tenant stands once among the waiting ones from SetHead to ClearHead. A tenant that neither waits nor
// runs is idle, and is forgotten after kRemembered or when kMostIdle others are. Owned by FairOrder. O(log tenants).
#ifndef PENSTOCK_ROUTER_CORE_TENANTS_SERVICE_LEDGER_H_
#define PENSTOCK_ROUTER_CORE_TENANTS_SERVICE_LEDGER_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/units.h"
#include "router/core/tenants/fair_terms.h"
#include "router/core/tenants/running_charges.h"
#include "router/core/tenants/tenant_charge.h"

namespace penstock {

// The first waiting request of a tenant.
struct TenantHead {
  Instant place;
  uint64_t sequence = 0;
  bool excused = false;  // It holds no other tenant back.
  double service = 0;    // Its expected charge.
  Instant since;         // Its wait counts from here.
};

// The place of a tenant among those that wait; the lowest goes first.
struct TenantRank {
  double level = 0;  // Its counter; infinite above the promise.
  int64_t tie = 0;   // The one served longest ago goes first; above the promise, the earliest place.
  uint64_t sequence = 0;
  auto operator<=>(const TenantRank&) const = default;
};

struct TenantAccount {
  TenantId tenant;
  double weight = 1;
  double counter = 0;
  uint64_t stamp = 0;  // When it was served last, or first seen; a number that grows.
  Instant served_at;   // As of the last charge.
  int64_t open = 0;    // Requests that were charged and have not ended.
  bool waits = false;
  bool known = false;  // It is configured, or was charged before.
  Instant idle_since;
  TenantHead head;  // While it waits.
  TenantRank rank;  // While it waits.
};

class ServiceLedger {
 public:
  static constexpr Duration kRemembered = Duration::Seconds(60);
  static constexpr size_t kMostIdle = 16'384;
  // Of the fair share, in kLeads: that of each kind of request in density_order.h.
  static constexpr double kGuaranteed = 0.6;
  // With all charges that run, the worst pair of a small fleet is twice as far apart (core_fairness_test.cc). Less
  // makes no difference to the tokens of the scenarios.
  static constexpr double kMostLead = 0.25;

  explicit ServiceLedger(FairTerms* terms) : terms_(terms) {}

  // The fairness or the weights changed. Open requests stay charged unless the books begin anew.
  void Configure();
  // Changes when all counters begin anew: charges of older books are not settled.
  uint32_t books() const { return books_; }

  // The tenant waits, and this is its first request.
  void SetHead(TenantId tenant, const TenantHead& head);
  // No request of the tenant waits any more.
  void ClearHead(TenantId tenant);
  // A request of the tenant is dispatched. A tenant of which none was `queued` is lifted first.
  TenantCharge Charge(TenantId tenant, double service, bool queued, Instant now);
  // A charged request ended after so much service. Requires the books of its charge.
  void Settle(TenantId tenant, const TenantCharge& charged, double used, Instant now);

  // The counter with which a request of this expected charge waits. A tenant of which none waits returns at most one
  // request away from the floor, and a new tenant not below it.
  double CounterOf(TenantId tenant, double service) const;
  // Raises the entries of its tenants to their counters over the floor; none while nobody waits. O(its tenants).
  void RaiseLeads(absl::flat_hash_map<TenantId, double>& leads) const;
  // True: no request waits here, and none that ran is to be settled.
  friend bool IsIdle(const ServiceLedger& ledger) { return ledger.open_ == 0 && ledger.waiting_.empty(); }
  // Null: unknown.
  const TenantAccount* Find(TenantId tenant) const;
  // A rank as of a counter and a first request that are to come. `later` orders those of one enumeration.
  TenantRank RankOf(double counter, uint64_t later, const TenantHead& head) const;
  // The least counter that a tenant of this rank can have.
  double Least(const TenantRank& rank) const;
  // The waiting tenant that is furthest behind and holds others back; null while one tenant waits, or only excused ones
  // do.
  const TenantAccount* Behind() const;

  struct Earlier {
    bool operator()(const TenantAccount* a, const TenantAccount* b) const { return a->rank < b->rank; }
  };
  using Waiting = absl::btree_set<TenantAccount*, Earlier>;
  const Waiting& waiting() const { return waiting_; }
  // That of the newest charge; those to come are higher.
  uint64_t Stamp() const { return clock_; }
  // The charges of the requests that run. A large one that ended may have left its rounding.
  RunningCharges running() const { return {std::max(0.0, running_.service), std::max(0.0, running_.over_weights)}; }
  // Service over weight that every waiting tenant was promised in kLeads; it only grows.
  double promised() const { return promised_; }
  size_t size() const { return accounts_.size(); }
  // True: the sums are those of the accounts. O(tenants).
  bool SumsHold() const;

 private:
  TenantAccount& Open(TenantId tenant);
  // The counter at which tenants return.
  double Floor() const;
  void Unplace(TenantAccount& account);
  // The promise grew by its part of this service.
  void Promise(const TenantAccount& served, double service);
  void Place(TenantAccount& account);
  // The tenant may have become idle. Forgets some that were idle for long.
  void Rest(TenantAccount& account);

  FairTerms* terms_;
  FairnessSpec spec_;  // As of the last Configure.
  absl::flat_hash_map<TenantId, std::unique_ptr<TenantAccount>> accounts_;
  Waiting waiting_;
  absl::btree_set<std::pair<double, TenantId>> fulfilled_;  // Waiting tenants with all that was promised, by counter.
  absl::btree_set<std::pair<Instant, TenantId>> idle_;
  double weights_ = 0;  // Sum over the tenants that wait.
  double promised_ = 0;
  double level_ = 0;  // The counter at which tenants return while none waits.
  RunningCharges running_;
  double largest_ = 0;  // The largest charge over a weight since something runs.
  int64_t open_ = 0;
  uint64_t clock_ = 0;
  Instant now_;
  uint32_t books_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_TENANTS_SERVICE_LEDGER_H_
