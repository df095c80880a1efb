// Memory that aborts of late will give back: it is still taken, and is not asked for twice.
//
// Invariant: an abort counts until its memory is back, or until it has taken longer than its time. A value with a short
// list; owned by the relief that aborts. Every operation is O(aborts of late).
#ifndef PENSTOCK_ROUTER_CORE_RELIEF_RETURNING_MEMORY_H_
#define PENSTOCK_ROUTER_CORE_RELIEF_RETURNING_MEMORY_H_

#include <vector>

#include "kvmodel/memory_ledger.h"

namespace penstock {

class ReturningMemory {
 public:
  // An abort that took longer than `longest` gives nothing back in time.
  ReturningMemory(const MemoryLedger& ledger, Duration longest) : ledger_(ledger), longest_(longest) {}

  void Expect(LeaseId lease, Instant now) { aborts_.push_back({lease, now}); }
  void ForgetOld(Instant now) {
    std::erase_if(aborts_, [&](const Abort& abort) { return now - abort.asked > longest_; });
  }
  // In the unit of the pool.
  double To(PoolId pool) const {
    double sum = 0;
    for (const Abort& abort : aborts_) sum += ledger_.DrainingOf(abort.lease, pool).AsDouble();
    return sum;
  }

 private:
  struct Abort {
    LeaseId lease;
    Instant asked;
  };

  const MemoryLedger& ledger_;
  const Duration longest_;
  std::vector<Abort> aborts_;  // The oldest first.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RELIEF_RETURNING_MEMORY_H_
