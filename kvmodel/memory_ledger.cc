#include "kvmodel/memory_ledger.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Shorter than a decode step, so a held amount barely changes between two records.
constexpr Duration kHistorySpacing = Duration::Milliseconds(5);
// Share of the capacity. Covers rounding to blocks and the steps between a sample and the history's record.
constexpr double kDeadBand = 0.02;
// Pools per RememberHeld, so that a call of a large fleet stays short.
constexpr size_t kRememberedPerCall = 32;

}  // namespace

PoolId MemoryLedger::AddPool(Amount capacity) {
  pools_.emplace_back().capacity = capacity;
  return PoolId(static_cast<uint32_t>(pools_.size() - 1));
}

void MemoryLedger::SetCapacity(PoolId pool, Amount capacity) { pools_[pool.value()].capacity = capacity; }

void MemoryLedger::Renew(PoolId id, Amount capacity) {
  Pool& pool = pools_[id.value()];
  assert(pool.held == Amount(0) && pool.promised == Amount(0) && pool.draining == Amount(0));
  pool = Pool();
  pool.capacity = capacity;
}

void MemoryLedger::Count(const Holdings& holdings, int64_t sign) {
  for (const Holding& holding : holdings) {
    assert(holding.held <= holding.promised && holding.held >= Amount(0));
    Pool& pool = pools_[holding.pool.value()];
    pool.held += holding.held * sign;
    pool.promised += holding.promised * sign;
    assert(pool.held >= Amount(0) && pool.promised >= pool.held);
  }
}

void MemoryLedger::Reserve(size_t leases) {
  leases_.reserve(leases);
  free_slots_.reserve(leases);
}

MemoryLedger::Lease& MemoryLedger::Find(LeaseId id, [[maybe_unused]] LeaseState state) {
  Lease& lease = leases_[static_cast<uint32_t>(id.value())];
  assert(lease.id == id && lease.state == state);
  return lease;
}

Amount MemoryLedger::DrainingOf(LeaseId id, PoolId pool) const {
  const Lease& lease = leases_[static_cast<uint32_t>(id.value())];
  Amount sum(0);
  if (lease.id != id || lease.state != LeaseState::kDraining) return sum;
  for (const Holding& holding : lease.holdings) sum += holding.pool == pool ? holding.held : Amount(0);
  return sum;
}

bool MemoryLedger::EndsItsDrain(LeaseId id) const {
  const Lease& lease = leases_[static_cast<uint32_t>(id.value())];
  return lease.id == id && lease.state == LeaseState::kDraining && lease.drain->first < Instant::Never();
}

void MemoryLedger::Free(Lease& lease) {
  lease.state = LeaseState::kFree;
  free_slots_.push_back(static_cast<uint32_t>(lease.id.value()));
}

LeaseId MemoryLedger::Open(const Holdings& holdings) {
  constexpr uint64_t kNextUse = uint64_t{1} << 32;
  if (free_slots_.empty()) {
    const auto slot = static_cast<uint32_t>(leases_.size());
    leases_.emplace_back().id = LeaseId(slot);
    free_slots_.push_back(slot);
  }
  Lease& lease = leases_[free_slots_.back()];
  free_slots_.pop_back();
  lease.id = LeaseId(lease.id.value() + kNextUse);
  lease.state = LeaseState::kLive;
  lease.holdings = holdings;
  ++opened_;
  Count(holdings, 1);
  CheckTotals();
  return lease.id;
}

void MemoryLedger::Update(LeaseId id, const Holdings& holdings) {
  Lease& lease = Find(id, LeaseState::kLive);
  Count(lease.holdings, -1);
  Count(holdings, 1);
  lease.holdings = holdings;
}

void MemoryLedger::Release(LeaseId id) {
  Lease& lease = Find(id, LeaseState::kLive);
  Count(lease.holdings, -1);
  Free(lease);
  CheckTotals();
}

void MemoryLedger::Drain(LeaseId id, Instant until) {
  Lease& lease = Find(id, LeaseState::kLive);
  Count(lease.holdings, -1);
  for (const Holding& holding : lease.holdings) pools_[holding.pool.value()].draining += holding.held;
  lease.state = LeaseState::kDraining;
  lease.drain = drains_.emplace(until, id);
  CheckTotals();
}

void MemoryLedger::DrainUntil(LeaseId id, Instant until) {
  Lease& lease = Find(id, LeaseState::kDraining);
  drains_.erase(lease.drain);
  lease.drain = drains_.emplace(until, id);
}

void MemoryLedger::Settle(Instant now, std::vector<PoolId>& freed) {
  if (NextSettle() > now) return;
  while (!drains_.empty() && drains_.begin()->first <= now) {
    Lease& lease = Find(drains_.begin()->second, LeaseState::kDraining);
    for (const Holding& holding : lease.holdings) {
      pools_[holding.pool.value()].draining -= holding.held;
      freed.push_back(holding.pool);
    }
    Free(lease);
    drains_.erase(drains_.begin());
  }
  CheckTotals();
}

Instant MemoryLedger::NextSettle() const { return drains_.empty() ? Instant::Never() : drains_.begin()->first; }

void MemoryLedger::Report(PoolId id, const UseReport& report) {
  Pool& pool = pools_[id.value()];
  pool.reported = report.used;
  pool.sampled_at = report.sampled_at;
  pool.ever_reported = true;
  const Amount dead_band(static_cast<int64_t>(kDeadBand * pool.capacity.AsDouble()));
  const Amount excess = std::max(Amount(0), report.used - HeldAt(pool, report.sampled_at) - pool.draining - dead_band);
  if (report.others > 0) {
    const Amount growth(static_cast<int64_t>(static_cast<double>(report.others) * report.mean_remaining));
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
  for (size_t i = 0; i < std::min(kRememberedPerCall, pools_.size()); ++i) {
    if (next_remembered_ >= pools_.size()) next_remembered_ = 0;
    Pool& pool = pools_[next_remembered_++];
    if (now - pool.remembered_at < kHistorySpacing) continue;
    pool.remembered_at = now;
    pool.history[pool.history_next] = {now, pool.held};
    pool.history_next = (pool.history_next + 1) % kHistory;
  }
}

Amount MemoryLedger::HeldAt(const Pool& pool, Instant at) const {
  for (int back = 1; back <= kHistory; ++back) {
    const PastHeld& past = pool.history[(pool.history_next + kHistory - back) % kHistory];
    if (past.at == Instant()) break;
    if (past.at <= at) return past.held;
  }
  return pool.held;
}

absl::Status MemoryLedger::Recount() const {
  struct Sums {
    Amount held{0};
    Amount promised{0};
    Amount draining{0};
  };
  std::vector<Sums> sums(pools_.size());
  size_t free = 0;
  size_t drains = 0;
  for (const Lease& lease : leases_) {
    free += lease.state == LeaseState::kFree;
    drains += lease.state == LeaseState::kDraining;
    for (const Holding& holding : lease.holdings) {
      Sums& sum = sums[holding.pool.value()];
      if (lease.state == LeaseState::kLive) {
        sum.held += holding.held;
        sum.promised += holding.promised;
      } else if (lease.state == LeaseState::kDraining) {
        sum.draining += holding.held;
      }
    }
  }
  for (size_t i = 0; i < pools_.size(); ++i) {
    const auto compare = [&](const char* total, Amount counted, Amount summed) {
      if (counted == summed) return absl::OkStatus();
      return absl::InternalError(
          absl::StrCat("pool ", i, ": ", total, " is ", counted.value(), ", its leases sum to ", summed.value()));
    };
    if (auto status = compare("held", pools_[i].held, sums[i].held); !status.ok()) return status;
    if (auto status = compare("promised", pools_[i].promised, sums[i].promised); !status.ok()) return status;
    if (auto status = compare("draining", pools_[i].draining, sums[i].draining); !status.ok()) return status;
  }
  if (free != free_slots_.size()) {
    return absl::InternalError(absl::StrCat(free, " slots are free, the free list has ", free_slots_.size()));
  }
  if (drains != drains_.size()) {
    return absl::InternalError(absl::StrCat(drains, " leases drain, the list of drains has ", drains_.size()));
  }
  return absl::OkStatus();
}

void MemoryLedger::CheckTotals() const {
#ifndef NDEBUG
  // A recount costs O(leases): a large ledger is left out, and an old one is recounted now and then.
  constexpr size_t kSmall = 128;
  if (leases_.size() > kSmall || (opened_ > 1024 && opened_ % 16 != 0)) return;
  assert(Recount().ok());
#endif
}

}  // namespace penstock
