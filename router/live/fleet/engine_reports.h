// A poll of an engine and its health as the core gets them: once per data-parallel rank. Pure.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_ENGINE_REPORTS_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_ENGINE_REPORTS_H_

#include <vector>

#include "backends/engines/contract/discovery.h"
#include "router/core/contract/event.h"
#include "router/fleet/fleet_book.h"

namespace penstock {

// `first` stands for the engine. A rank that the poll did not show has no report.
std::vector<EngineReport> ReportsOf(const FleetBook& book, ReplicaId first, const Observation& seen, Instant at);

// The engine's replicas: all that it ever had, and those of ranks that it has no more.
std::vector<ReplicaId> AllRanks(const FleetBook& book, ReplicaId first);
std::vector<ReplicaId> RanksGone(const FleetBook& book, ReplicaId first);
// The health of each rank that it has: that of the engine.
std::vector<Event> HealthOfRanks(const FleetBook& book, ReplicaId first, Health health);

void Append(const std::vector<Event>& more, std::vector<Event>& events);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_ENGINE_REPORTS_H_
