// The ledger of KV memory: what every admitted request holds and is expected to hold, pool by pool.
//
// A lease is opened when its request is forwarded and ends once, by Release, or by Drain when the request was aborted:
// then it still counts until its memory is known to be back (the adapter knows a bound for it).
// Invariant, asserted after every mutation: totals are the sums of the leases. An engine that uses more than its leases
// hold is an overdraft: an event to count, never an assertion; memory that others use on the same engine is foreign and
// lowers what is free. Owned by the decision core, one caller at a time. Operations cost O(pools of the lease), reports
// O(1).
#ifndef PENSTOCK_KVMODEL_MEMORY_LEDGER_H_
#define PENSTOCK_KVMODEL_MEMORY_LEDGER_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/ids.h"
#include "base/units.h"

namespace penstock {

// A lease's row in one pool. held <= promised.
struct Holding {
  PoolId pool;
  Amount held{0};
  Amount promised{0};
  bool operator==(const Holding&) const = default;
};
using Holdings = absl::InlinedVector<Holding, 2>;

// What a pool's engine says it uses, compared with the leases as of the same moment.
struct UseReport {
  Instant sampled_at;
  Amount used{0};
  int64_t running = -1;       // Sequences on the engine, waiting included; negative: not told.
  int64_t own_running = 0;    // Of them, this router's.
  double mean_remaining = 0;  // Expected further growth of one sequence, for foreign ones.
};

class MemoryLedger {
 public:
  // Pools are numbered in order of the calls. A static or an elastic pool: the ledger does not care who shares it.
  PoolId AddPool(Amount capacity);
  void SetCapacity(PoolId pool, Amount capacity);

  LeaseId Open(const Holdings& holdings);
  // Replaces a live lease's amounts; same pools in the same order.
  void Update(LeaseId lease, const Holdings& holdings);
  // The request ended and the engine freed its memory.
  void Release(LeaseId lease);
  // The request was aborted; its held amount stays taken until `until`, its promise ends now.
  void Drain(LeaseId lease, Instant until);
  // Moves the end of a drain, once the abort is known to have reached the engine.
  void DrainUntil(LeaseId lease, Instant until);
  // Ends drains whose time has come and appends the pools they freed, repeated as they come.
  void Settle(Instant now, std::vector<PoolId>& freed);
  // Makes room for so many leases, so that none of them pays for the growth of the table.
  void Reserve(size_t leases);
  // Earliest end of a drain, Instant::Never() when none.
  Instant NextSettle() const;

  // Compares with the leases as of the report's time, with a dead band of 2 % of capacity.
  void Report(PoolId pool, const UseReport& report);

  Amount capacity(PoolId pool) const { return pools_[pool.value()].capacity; }
  Amount held(PoolId pool) const { return pools_[pool.value()].held; }
  Amount promised(PoolId pool) const { return pools_[pool.value()].promised; }
  Amount draining(PoolId pool) const { return pools_[pool.value()].draining; }
  Amount foreign(PoolId pool) const { return pools_[pool.value()].foreign; }
  Amount overdraft(PoolId pool) const { return pools_[pool.value()].overdraft; }
  Amount reported(PoolId pool) const { return pools_[pool.value()].reported; }
  int64_t overdrafts(PoolId pool) const { return pools_[pool.value()].overdrafts; }
  // Since the newest report was sampled; Duration::Infinite() before the first.
  Duration ReportAge(PoolId pool, Instant now) const;
  // What requests of this router may use in all: capacity less draining, foreign use and overdraft. May be negative.
  Amount Available(PoolId pool) const;
  int64_t leases() const { return static_cast<int64_t>(leases_.size() - free_slots_.size()); }

  // Records held amounts so that later reports can be compared with their own moment: of a few pools per call, each
  // every 5 ms at most, for about a third of a second.
  void RememberHeld(Instant now);

 private:
  static constexpr int kHistory = 64;
  struct PastHeld {
    Instant at;
    Amount held{0};
  };
  struct Pool {
    Amount capacity{0};
    Amount held{0};
    Amount promised{0};
    Amount draining{0};
    Amount foreign{0};
    Amount overdraft{0};
    Amount reported{0};
    int64_t overdrafts = 0;
    bool ever_reported = false;
    Instant sampled_at;
    std::array<PastHeld, kHistory> history{};
    int history_next = 0;
    Instant remembered_at;
  };
  enum class LeaseState : uint8_t { kFree, kLive, kDraining };
  struct Lease {
    LeaseId id;  // As given out; another one once the slot is used again.
    LeaseState state = LeaseState::kFree;
    Holdings holdings;
    std::multimap<Instant, LeaseId>::iterator drain;  // Meaningful while draining.
  };

  Lease& Live(LeaseId id);
  Lease& Draining(LeaseId id);
  void Free(Lease& lease);
  void Count(const Holdings& holdings, int64_t sign);
  Amount HeldAt(const Pool& pool, Instant at) const;
  void CheckTotals() const;

  std::vector<Pool> pools_;
  std::vector<Lease> leases_;  // By slot, the low half of the id; the high half counts the slot's uses.
  std::vector<uint32_t> free_slots_;
  std::multimap<Instant, LeaseId> drains_;
  uint64_t opened_ = 0;
  size_t next_remembered_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MEMORY_LEDGER_H_
