// The fleet inside the core: pools, replicas, which replicas share a GPU, and the ledger of memory.
//
// Invariant: position i of pools and replicas is the id i of the Fleet; lists only grow. A replica of the Fleet is
// listed by each of its pools. A place that becomes vacant forgets all of its replica or its pool. Owned by
// PenstockCore; every room above reads it, RunningRequests changes its members.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_FLEET_STATE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_FLEET_STATE_H_

#include <vector>

#include "kvmodel/memory_ledger.h"
#include "router/core/books/pool_state.h"
#include "router/core/books/replica_state.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/core/learning/firm_demand.h"
#include "router/core/storage/storage_books.h"

namespace penstock {

// Requests for which tables are laid out beforehand, at most: some tens of bytes each.
inline constexpr int64_t kMostReserved = 100'000;

class FleetState {
 public:
  // Takes a new description. O(replicas x GPUs + neighbours).
  void Configure(const Fleet& fleet, Instant now);

  const Fleet& spec() const { return spec_; }
  const ClassSpec& GoalsOf(const RequestState& request) const {
    return spec_.classes[request.arrived.service_class.value()];
  }
  // Sequences that all replicas can run, at most kMostReserved.
  int64_t Rows() const;
  bool Knows(ReplicaId id) const { return id.value() < replicas_.size(); }
  std::vector<ReplicaState>& replicas() { return replicas_; }
  const std::vector<ReplicaState>& replicas() const { return replicas_; }
  ReplicaState& replica(ReplicaId id) { return replicas_[id.value()]; }
  const ReplicaState& replica(ReplicaId id) const { return replicas_[id.value()]; }
  size_t PositionOf(const ReplicaState& replica) const { return static_cast<size_t>(&replica - replicas_.data()); }
  const std::vector<PoolState>& pools() const { return pools_; }
  PoolState& pool(PoolId id) { return pools_[id.value()]; }
  const PoolState& pool(PoolId id) const { return pools_[id.value()]; }
  MemoryLedger& ledger() { return ledger_; }
  const MemoryLedger& ledger() const { return ledger_; }

  // The replicas that share one of its GPUs, by position.
  const std::vector<size_t>& NeighboursOf(const ReplicaState& replica) const {
    return neighbours_[PositionOf(replica)];
  }
  int BusyNeighbours(const ReplicaState& replica) const;

  // The replicas that hold a block of a prompt.
  const PrefixHolders& holders() const { return holders_; }

  // Brings the risk of some pools up to date, in turn. O(1).
  void TickRisk(Instant now);
  // Checks the forecasts of the replica's pools that are due.
  void CheckForecasts(const ReplicaState& replica, Instant now);
  // Takes an engine's report into the books of its replica and of the replica's pools.
  void Report(const EngineReport& event);

  // Adds its part of a view.
  void Show(CoreView& view, Instant now) const;

  StorageBooks storage;
  FirmDemand demand;

 private:
  void ConfigurePools();
  void ReserveLandmarks();
  void FindNeighbours();

  Fleet spec_;
  std::vector<PoolState> pools_;
  std::vector<ReplicaState> replicas_;
  std::vector<std::vector<size_t>> neighbours_;  // One list per replica.
  MemoryLedger ledger_;
  PrefixHolders holders_;
  size_t next_tick_ = 0;  // Pool whose risk is looked at next.
};

// The request, which its replica still lists, leaves its pools. O(pools x horizons); O(running requests) where it hid
// the others of a pool.
void LeavePools(FleetState& fleet, const RequestState& request);

// Takes an engine's word about its cache. Void while it is down or asleep: it has none then.
void ReportCache(FleetState& fleet, const CacheReport& event);

// The ledger compares the use of the pool, as its replicas reported it last, with the leases of then. A foreign
// sequence is expected to grow as the pool's own do on average. The newest report was sampled at `sampled_at`.
void ReportUse(FleetState& fleet, PoolId pool, Instant sampled_at);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_FLEET_STATE_H_
