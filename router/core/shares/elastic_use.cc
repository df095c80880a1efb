#include "router/core/shares/elastic_use.h"

#include <algorithm>

namespace penstock {
namespace {

bool HasLimit(const FleetState& fleet, const ReplicaSpec& replica) {
  return std::any_of(replica.pools.begin(), replica.pools.end(),
                     [&](const PoolShare& share) { return fleet.spec().pools[share.pool.value()].limited; });
}

Amount CapacityOf(const FleetState& fleet, PoolId id, const ElasticReport& report) {
  const PoolState& pool = fleet.pool(id);
  if (pool.spec().limited) return Amount(report.limit.value());
  Amount capacity = fleet.spec().pools[id.value()].capacity;
  for (ReplicaId member : pool.replicas()) {
    const ReplicaState& state = fleet.replica(member);
    if (!state.facts.elastic || LendsElasticMemory(state, report.sampled_at)) continue;
    capacity -= Amount(state.facts.elastic->preallocated.value());
  }
  return std::max(capacity, Amount(0));
}

void Follow(const ReplicaState& replica, FleetState& fleet) {
  for (const PoolShare& share : replica.spec().pools) {
    PoolState& pool = fleet.pool(share.pool);
    if (!pool.spec().in_bytes) continue;
    const Amount capacity = CapacityOf(fleet, share.pool, *replica.facts.elastic);
    pool.Resize(capacity);
    fleet.ledger().SetCapacity(share.pool, capacity);
  }
}

}  // namespace

void TakeElasticReport(const ElasticReport& report, FleetState& fleet) {
  ReplicaState& replica = fleet.replica(report.replica);
  if (!HasLimit(fleet, replica.spec())) return;
  replica.facts.elastic = report;
  Follow(replica, fleet);
  for (const PoolShare& share : replica.spec().pools) {
    if (fleet.pool(share.pool).spec().in_bytes) ReportUse(fleet, share.pool, report.sampled_at);
  }
}

void KeepElasticReports(FleetState& fleet) {
  for (ReplicaState& replica : fleet.replicas()) {
    if (replica.spec().removed || !HasLimit(fleet, replica.spec())) replica.facts.elastic.reset();
  }
  for (const ReplicaState& replica : fleet.replicas()) {
    if (replica.facts.elastic) Follow(replica, fleet);
  }
}

}  // namespace penstock
