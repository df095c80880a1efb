// The memory that is free and serves nobody although requests wait for memory, summed over time, by pool.
//
// A pool has stranded memory while the first request of a model that it serves waits for memory. It is the memory that
// neither running requests nor their forecast growth need. No waiting request fits into it. A sample holds until the
// next one. Pure; one owner. A sample costs O(pools).
#ifndef PENSTOCK_ROUTER_CORE_ACCOUNTS_STRANDED_BOOK_H_
#define PENSTOCK_ROUTER_CORE_ACCOUNTS_STRANDED_BOOK_H_

#include <algorithm>
#include <vector>

#include "router/core/accounts/gpu_report.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/memory_waits.h"

namespace penstock {

class StrandedBook {
 public:
  // Time after `end` is not counted.
  explicit StrandedBook(Instant end = Instant::Never()) : end_(end) {}

  // The pools as they are from now on. A place that another pool has now begins anew.
  void Configure(const std::vector<PoolSpec>& pools, Instant now) {
    Settle(now);
    pools_.resize(pools.size());
    for (size_t i = 0; i < pools.size(); ++i) {
      if (pools_[i].name != pools[i].name) pools_[i] = StrandedMemory();
      pools_[i].name = pools[i].name;
      pools_[i].in_bytes = pools[i].in_bytes;
    }
  }
  void Sample(const MemoryWaits& waits, Instant now) {
    Settle(now);
    for (StrandedMemory& pool : pools_) {
      pool.now = 0;
      pool.waited_for = false;
    }
    for (const MemoryWaits::Pool& each : waits.pools) {
      if (each.pool.value() >= pools_.size()) continue;
      pools_[each.pool.value()].now = each.unused.AsDouble();
      pools_[each.pool.value()].waited_for = true;
    }
  }
  // Counts the time up to `now`.
  void Settle(Instant now) {
    const Instant until = std::min(now, end_);
    if (until <= since_) return;
    const double passed = (until - since_).seconds();
    since_ = until;
    for (StrandedMemory& pool : pools_) {
      pool.amount_seconds += pool.now * passed;
      if (pool.waited_for) pool.seconds += passed;
    }
  }

  // Positions are those of Fleet::pools.
  const std::vector<StrandedMemory>& pools() const { return pools_; }

 private:
  Instant end_;
  Instant since_;
  std::vector<StrandedMemory> pools_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ACCOUNTS_STRANDED_BOOK_H_
