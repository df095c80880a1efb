#include "kvmodel/memory_ledger.h"

#include <algorithm>
#include <cassert>

namespace penstock {
namespace {

constexpr Duration kHistorySpacing = Duration::Milliseconds(5);
constexpr double kDeadBand = 0.02;

}  // namespace

PoolId MemoryLedger::AddPool(Amount capacity) {
  pools_.emplace_back().capacity = capacity;
  return PoolId(static_cast<uint32_t>(pools_.size() - 1));
}

void MemoryLedger::SetCapacity(PoolId pool, Amount capacity) { pools_[pool.value()].capacity = capacity; }

void MemoryLedger::Count(const Holdings& holdings, int64_t sign) {
  for (const Holding& holding : holdings) {
    assert(holding.held <= holding.promised && holding.held >= Amount(0));
    Pool& pool = pools_[holding.pool.value()];
    pool.held += holding.held * sign;
    pool.promised += holding.promised * sign;
    assert(pool.held >= Amount(0) && pool.promised >= pool.held);
  }
}

LeaseId MemoryLedger::Open(const Holdings& holdings) {
  const LeaseId id(next_lease_++);
  Count(holdings, 1);
  leases_.emplace(id, Lease{holdings, false});
  CheckTotals();
  return id;
}

void MemoryLedger::Update(LeaseId id, const Holdings& holdings) {
  const auto found = leases_.find(id);
  assert(found != leases_.end() && !found->second.draining);
  Count(found->second.holdings, -1);
  Count(holdings, 1);
  found->second.holdings = holdings;
}

void MemoryLedger::Release(LeaseId id) {
  const auto found = leases_.find(id);
  assert(found != leases_.end() && !found->second.draining);
  Count(found->second.holdings, -1);
  leases_.erase(found);
  CheckTotals();
}

void MemoryLedger::Drain(LeaseId id, Instant until) {
  const auto found = leases_.find(id);
  assert(found != leases_.end() && !found->second.draining);
  Lease& lease = found->second;
  Count(lease.holdings, -1);
  for (const Holding& holding : lease.holdings) pools_[holding.pool.value()].draining += holding.held;
  lease.draining = true;
  drains_.emplace(until, id);
  CheckTotals();
}

void MemoryLedger::DrainUntil(LeaseId id, Instant until) {
  const auto drain =
      std::find_if(drains_.begin(), drains_.end(), [id](const auto& entry) { return entry.second == id; });
  assert(drain != drains_.end());
  drains_.erase(drain);
  drains_.emplace(until, id);
}

bool MemoryLedger::Settle(Instant now) {
  bool any = false;
  while (!drains_.empty() && drains_.begin()->first <= now) {
    const auto found = leases_.find(drains_.begin()->second);
    for (const Holding& holding : found->second.holdings) pools_[holding.pool.value()].draining -= holding.held;
    leases_.erase(found);
    drains_.erase(drains_.begin());
    any = true;
  }
  if (any) CheckTotals();
  return any;
}

Instant MemoryLedger::NextSettle() const { return drains_.empty() ? Instant::Never() : drains_.begin()->first; }

void MemoryLedger::Report(PoolId id, const UseReport& report) {
  Pool& pool = pools_[id.value()];
  pool.reported = report.used;
  pool.sampled_at = report.sampled_at;
  pool.ever_reported = true;
  const Amount dead_band(static_cast<int64_t>(kDeadBand * pool.capacity.AsDouble()));
  const Amount excess = std::max(Amount(0), report.used - HeldAt(pool, report.sampled_at) - pool.draining - dead_band);
  const int64_t others = report.running < 0 ? 0 : std::max<int64_t>(0, report.running - report.own_running);
  if (others > 0) {
    const Amount growth(static_cast<int64_t>(static_cast<double>(others) * report.mean_remaining));
    pool.foreign = excess > Amount(0) ? excess + dead_band + growth : Amount(0);
    pool.overdraft = Amount(0);
    return;
  }
  pool.foreign = Amount(0);
  if (excess > Amount(0) && pool.overdraft == Amount(0)) ++pool.overdrafts;
  pool.overdraft = excess;
}

Duration MemoryLedger::ReportAge(PoolId id, Instant now) const {
  const Pool& pool = pools_[id.value()];
  return pool.ever_reported ? now - pool.sampled_at : Duration::Infinite();
}

Amount MemoryLedger::Available(PoolId id) const {
  const Pool& pool = pools_[id.value()];
  return pool.capacity - pool.draining - pool.foreign - pool.overdraft;
}

void MemoryLedger::RememberHeld(Instant now) {
  if (now - remembered_at_ < kHistorySpacing) return;
  remembered_at_ = now;
  for (Pool& pool : pools_) {
    pool.history[pool.history_next] = {now, pool.held};
    pool.history_next = (pool.history_next + 1) % kHistory;
  }
}

Amount MemoryLedger::HeldAt(const Pool& pool, Instant at) const {
  // The newest record not after `at`; the present where the history does not reach.
  for (int back = 1; back <= kHistory; ++back) {
    const PastHeld& past = pool.history[(pool.history_next + kHistory - back) % kHistory];
    if (past.at == Instant()) break;
    if (past.at <= at) return past.held;
  }
  return pool.held;
}

void MemoryLedger::CheckTotals() const {
#ifndef NDEBUG
  // The full sum is quadratic over a run: a young ledger is checked at every lease, an old one at every 64th.
  if (next_lease_ > 1024 && next_lease_ % 64 != 0) return;
  std::vector<Amount> held(pools_.size()), promised(pools_.size()), draining(pools_.size());
  for (const auto& [id, lease] : leases_) {
    for (const Holding& holding : lease.holdings) {
      (lease.draining ? draining : held)[holding.pool.value()] += holding.held;
      if (!lease.draining) promised[holding.pool.value()] += holding.promised;
    }
  }
  for (size_t i = 0; i < pools_.size(); ++i) {
    assert(pools_[i].held == held[i] && pools_[i].promised == promised[i] && pools_[i].draining == draining[i]);
  }
#endif
}

}  // namespace penstock
