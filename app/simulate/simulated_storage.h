// The storage of a simulated fleet, from its configuration. Pure.
#ifndef PENSTOCK_APP_SIMULATE_SIMULATED_STORAGE_H_
#define PENSTOCK_APP_SIMULATE_SIMULATED_STORAGE_H_

#include <string>
#include <vector>

#include "bench/simulation/arrivals.h"
#include "config/config.h"
#include "router/fleet/fleet_book.h"

namespace penstock {

// The need that requests of a tenant of the trace declare.
StorageNeed StorageNeedOf(const Config& config, const std::string& tenant);
// The nodes with simulated storage, and their replicas in the book.
std::vector<bench::SimulatedStorage> StoragesOf(const Config& config, const FleetBook& book);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_SIMULATED_STORAGE_H_
