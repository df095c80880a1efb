// The ledger of KV memory: the amount that every admitted request holds and is expected to hold, pool by pool.
//
// A lease opens when its request is forwarded. It ends once: by Release, or by Drain when the request was aborted. A
// draining lease still counts until its memory is known to be free; the caller gives a bound for that time.
// Invariant: a pool's totals are the sums of its leases. Recount() proves it; debug builds assert it.
// Use above the leases is an overdraft: the ledger counts it and never asserts it. Memory that others use on the same
// engine is foreign use and lowers the free amount.
// One owner, the decision core; not thread-safe. An operation costs O(pools of the lease), a report O(1).
#ifndef PENSTOCK_KVMODEL_MEMORY_LEDGER_H_
#define PENSTOCK_KVMODEL_MEMORY_LEDGER_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "base/ids.h"
#include "base/units.h"

namespace penstock {

// The part of a lease in one pool. Invariant: 0 <= held <= promised.
struct Holding {
  PoolId pool;
  Amount held{0};
  Amount promised{0};
  bool operator==(const Holding&) const = default;
};
using Holdings = absl::InlinedVector<Holding, 2>;

// The use that a pool's engines report. It is compared with the leases of the same moment.
struct UseReport {
  Instant sampled_at;
  Amount used{0};
  int64_t others = 0;         // Sequences on the engines that this router did not send; 0 where unknown.
  double mean_remaining = 0;  // Expected further growth of one foreign sequence, in the pool's unit.
};

// The amounts of one pool, in its unit.
struct PoolBalance {
  Amount capacity{0};
  Amount held{0};      // Sum of the live leases.
  Amount promised{0};  // Sum of the live leases, at least `held`.
  Amount draining{0};  // Held amounts of aborted requests.
  Amount foreign{0};   // Use by others, their expected growth included.
  Amount overdraft{0};
  Amount reported{0};      // The newest report's use.
  int64_t overdrafts = 0;  // Overdrafts so far.
};

class MemoryLedger {
 public:
  // Pools are numbered in the order of the calls. A pool may be static or elastic.
  PoolId AddPool(Amount capacity);
  void SetCapacity(PoolId pool, Amount capacity);
  // The pool is another one from now on: its reports and counts are forgotten. It has no leases.
  void Renew(PoolId pool, Amount capacity);

  LeaseId Open(const Holdings& holdings);
  // Replaces the amounts of a live lease. `holdings` names the same pools in the same order.
  void Update(LeaseId lease, const Holdings& holdings);
  // The request ended and the engine freed its memory.
  void Release(LeaseId lease);
  // The request was aborted: its held amount stays taken until `until`, its promise ends at once.
  void Drain(LeaseId lease, Instant until);
  // Moves the end of a drain, for an abort that is known to have reached the engine.
  void DrainUntil(LeaseId lease, Instant until);
  // Ends the drains that are due by `now`. Appends the pool of each freed holding; a pool may come several times.
  void Settle(Instant now, std::vector<PoolId>& freed);
  // The amount of the pool that a drained lease still takes; 0 once its drain is over.
  Amount DrainingOf(LeaseId lease, PoolId pool) const;
  // True: the lease drains, and the end of its drain is known.
  bool EndsItsDrain(LeaseId lease) const;
  // Makes room for `leases` leases, so that Open does not grow the table.
  void Reserve(size_t leases);
  // The earliest end of a drain; Instant::Never() without one.
  Instant NextSettle() const;

  // Compares the report with the leases of its time, with a dead band of 2 % of the capacity. With foreign sequences on
  // the engine the excess is foreign use, else an overdraft.
  void Report(PoolId pool, const UseReport& report);

  // The amounts of a pool. The reference is valid until AddPool.
  const PoolBalance& balance(PoolId pool) const { return pools_[pool.value()]; }
  // The time since the newest report was sampled; Duration::Infinite() before the first.
  Duration ReportAge(PoolId pool, Instant now) const;
  // The memory for this router's requests: capacity less draining, foreign use and overdraft. May be negative.
  Amount Available(PoolId pool) const;
  int64_t leases() const { return static_cast<int64_t>(leases_.size() - free_slots_.size()); }

  // Records the held amounts of up to 32 pools, so that a later report is compared with its own moment. A pool is
  // recorded at most every 5 ms; its history covers about a third of a second.
  void RememberHeld(Instant now);

  // Sums every lease again and compares the sums with the totals of each pool, the drain list and the free slots.
  // Internal names the first difference. Costs O(leases + pools); for tests, fuzzing and live samples.
  absl::Status Recount() const;

 private:
  friend struct BrokenLedger;  // Tests: takes an amount out of a pool's total.

  static constexpr int kHistory = 64;  // Records per pool: 64 x 5 ms span a report's period and its way.
  struct PastHeld {
    Instant at;
    Amount held{0};
  };
  struct Pool : PoolBalance {
    bool ever_reported = false;
    Instant sampled_at;
    std::array<PastHeld, kHistory> history{};
    int history_next = 0;
    Instant remembered_at;
  };
  enum class LeaseState : uint8_t { kFree, kLive, kDraining };
  struct Lease {
    LeaseId id;  // Changes when the slot is used again.
    LeaseState state = LeaseState::kFree;
    Holdings holdings;
    std::multimap<Instant, LeaseId>::iterator drain;  // Valid while draining.
  };

  // The lease of this id; it is in `state`.
  Lease& Find(LeaseId id, LeaseState state);
  void Free(Lease& lease);
  void Count(const Holdings& holdings, int64_t sign);
  // The newest record that is not after `at`; the present amount where the history does not reach.
  Amount HeldAt(const Pool& pool, Instant at) const;
  void CheckTotals() const;

  std::vector<Pool> pools_;
  // The low half of a lease's id is its slot, the high half counts the slot's uses.
  std::vector<Lease> leases_;
  std::vector<uint32_t> free_slots_;
  std::multimap<Instant, LeaseId> drains_;
  uint64_t opened_ = 0;
  size_t next_remembered_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MEMORY_LEDGER_H_
