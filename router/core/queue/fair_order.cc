#include "router/core/queue/fair_order.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "absl/container/inlined_vector.h"

namespace penstock {
namespace {

// The requests of the list that stand ahead of this one, up to `most`. Those are counted where they stand, and not
// looked at: most are in no cache of the processor.
int64_t CountAhead(const PlaceOrder& list, const RequestState& request, int64_t most) {
  const auto end = list.lower_bound(&request);
  int64_t ahead = 0;
  for (auto it = list.begin(); it != end && ahead < most; ++it) ++ahead;
  return ahead;
}

}  // namespace

// A tenant within an enumeration: its next request, and its rank as if those before had been served.
struct FairOrder::Cursor {
  TenantRank rank;
  double counter;
  double weight;
  PlaceOrder::const_iterator next;
  PlaceOrder::const_iterator end;

  // For a heap whose front has the lowest rank.
  static bool Behind(const Cursor& a, const Cursor& b) { return b.rank < a.rank; }
};

void FairOrder::Configure(Duration ttft) {
  ttft_ = ttft;
  const bool anew = terms_->spec() != spec_;
  std::vector<RequestState*> waiting;
  if (anew) All(waiting);
  ledger_.Configure();
  if (!anew) return;
  paid_.clear();
  tenants_.clear();
  size_ = 0;
  spec_ = terms_->spec();
  for (RequestState* request : waiting) Insert(request);
}

const PlaceOrder* FairOrder::ListOf(TenantId tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? nullptr : &found->second;
}

double FairOrder::Most(const RunningCharges& running, Instant now) const {
  const TenantAccount* behind = ledger_.Behind();
  if (behind == nullptr) return std::numeric_limits<double>::infinity();
  double lead = ServiceLedger::kMostLead;
  const double patience = kPatience * ttft_.seconds();
  if (patience > 0 && ListOf(behind->tenant)->size() <= kFew) {
    const double waited = (now - std::max(behind->head.since, behind->served_at)).seconds();
    lead -= std::clamp(waited / patience, 0.0, 1.0) * (lead - kLeastLead);
  }
  return ledger_.Least(behind->rank) + lead * running.For(behind->weight);
}

void FairOrder::Insert(RequestState* request) {
  const TenantId key = KeyOf(*request);
  PlaceOrder& list = IsPaid(*request) ? paid_ : tenants_[key];
  const bool added = list.insert(request).second;
  assert(added);
  static_cast<void>(added);
  ++size_;
  if (!apart() || &list == &paid_) return;
  request->service.queued = true;
  if (*list.begin() == request) ledger_.SetHead(key, HeadOf(*request));
}

void FairOrder::Erase(RequestState* request) {
  --size_;
  if (IsPaid(*request)) {
    paid_.erase(request);
    return;
  }
  const auto found = tenants_.find(KeyOf(*request));
  PlaceOrder& list = found->second;
  const bool first = *list.begin() == request;
  list.erase(request);
  if (!apart()) return;
  if (list.empty()) {
    ledger_.ClearHead(found->first);
    tenants_.erase(found);
  } else if (first) {
    ledger_.SetHead(found->first, HeadOf(**list.begin()));
  }
}

RequestState* FairOrder::First() const {
  assert(size_ > 0);
  if (!paid_.empty()) return *paid_.begin();
  if (!apart()) return *tenants_.begin()->second.begin();
  return *ListOf((*ledger_.waiting().begin())->tenant)->begin();
}

void FairOrder::Visit(double most, absl::FunctionRef<bool(RequestState*, const TenantRank&)> visit) const {
  const TenantRank first{-std::numeric_limits<double>::infinity(), 0, 0};
  for (RequestState* request : paid_) {
    if (!visit(request, first)) return;
  }
  if (!apart()) {
    for (const auto& [tenant, list] : tenants_) {
      for (RequestState* request : list) {
        if (!visit(request, first)) return;
      }
    }
    return;
  }
  absl::InlinedVector<Cursor, 16> cursors;
  auto fresh = ledger_.waiting().begin();
  for (uint64_t visited = 1;; ++visited) {
    if (fresh != ledger_.waiting().end() && (cursors.empty() || (*fresh)->rank < cursors.front().rank)) {
      const PlaceOrder& list = *ListOf((*fresh)->tenant);
      cursors.push_back({(*fresh)->rank, (*fresh)->counter, (*fresh)->weight, list.begin(), list.end()});
      std::push_heap(cursors.begin(), cursors.end(), Cursor::Behind);
      ++fresh;
    }
    if (cursors.empty() || ledger_.Least(cursors.front().rank) > most) return;
    std::pop_heap(cursors.begin(), cursors.end(), Cursor::Behind);
    Cursor& cursor = cursors.back();
    RequestState* request = *cursor.next;
    if (!visit(request, cursor.rank)) return;
    if (++cursor.next == cursor.end) {
      cursors.pop_back();
      continue;
    }
    cursor.counter += request->service.expected / cursor.weight;
    cursor.rank = ledger_.RankOf(cursor.counter, ledger_.Stamp() + visited, HeadOf(**cursor.next));
    std::push_heap(cursors.begin(), cursors.end(), Cursor::Behind);
  }
}

void FairOrder::InOrder(const RunningCharges& running, Instant now,
                        absl::FunctionRef<bool(RequestState*)> visit) const {
  Visit(Most(running, now), [&](RequestState* request, const TenantRank&) { return visit(request); });
}

void FairOrder::All(std::vector<RequestState*>& out) const {
  Visit(std::numeric_limits<double>::infinity(), [&](RequestState* request, const TenantRank&) {
    out.push_back(request);
    return true;
  });
}

bool FairOrder::MayGo(const RequestState& request, const RunningCharges& running, Instant now) const {
  if (!apart() || request.service.paid) return true;
  const double counter = ledger_.CounterOf(request.arrived.tenant, request.service.expected);
  return ledger_.Least(ledger_.RankOf(counter, 0, HeadOf(request))) <= Most(running, now);
}

int64_t FairOrder::Ahead(const RequestState& request, const RunningCharges& running, Instant now, int64_t most) const {
  if (IsPaid(request)) return CountAhead(paid_, request, most);
  const TenantId key = KeyOf(request);
  const PlaceOrder* own = ListOf(key);
  const int64_t before_it = own == nullptr ? 0 : CountAhead(*own, request, most);
  if (!apart() || before_it >= most) return before_it;
  double service = 0;
  if (own != nullptr) {
    std::for_each_n(own->begin(), before_it, [&](const RequestState* other) { service += other->service.expected; });
  }
  if (!MayGo(request, running, now)) return most;
  const double counter = ledger_.CounterOf(key, request.service.expected) + service / terms_->WeightOf(key);
  const TenantAccount* account = ledger_.Find(key);
  const bool served = account == nullptr || before_it > 0;
  const TenantRank rank = ledger_.RankOf(counter, served ? ledger_.Stamp() + 1 : account->stamp, HeadOf(request));
  int64_t ahead = before_it;
  Visit(Most(running, now), [&](RequestState* other, const TenantRank& at) {
    if (!(at < rank)) return false;
    if (other->arrived.tenant != key || IsPaid(*other)) ++ahead;
    return ahead < most;
  });
  return ahead;
}

bool FairOrder::HoldsBack(const RunningCharges& running, Instant now) const {
  const ServiceLedger::Waiting& waiting = ledger_.waiting();
  return !waiting.empty() && ledger_.Least((*waiting.rbegin())->rank) > Most(running, now);
}

void FairOrder::Excuse(RequestState* request) {
  request->service.excused = true;
  if (!apart() || IsPaid(*request)) return;
  const PlaceOrder* list = ListOf(KeyOf(*request));
  if (list != nullptr && *list->begin() == request) ledger_.SetHead(KeyOf(*request), HeadOf(*request));
}

void FairOrder::Charge(RequestState& request, Instant now) {
  if (!apart() || request.service.paid) return;
  ServiceState& service = request.service;
  service.charged = ledger_.Charge(KeyOf(request), request.service.expected, service.queued, now);
  service.books = ledger_.books();
  service.paid = true;
  service.queued = service.excused = false;
}

void FairOrder::Settle(RequestState& request, double used, Instant now) {
  ServiceState& service = request.service;
  if (service.paid && service.books == ledger_.books()) {
    ledger_.Settle(request.arrived.tenant, service.charged, used, now);
  }
  service.paid = false;
}

bool FairOrder::SumHolds() const {
  size_t size = paid_.size();
  bool alike = ledger_.SumsHold();
  for (const auto& [tenant, list] : tenants_) {
    size += list.size();
    if (!apart()) continue;
    const TenantAccount* account = ledger_.Find(tenant);
    alike = alike && account != nullptr && account->waits && account->head.sequence == (*list.begin())->sequence;
  }
  if (apart()) alike = alike && tenants_.size() == ledger_.waiting().size();
  return alike && size == size_;
}

}  // namespace penstock
