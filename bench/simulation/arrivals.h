// A trace as the arrivals of a simulated fleet.
#ifndef PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_
#define PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "bench/traces/trace.h"

namespace penstock::bench {

// The model that serves a name of the trace; nullopt: none.
using ModelLookup = std::function<std::optional<ModelId>(const std::string&)>;
// The service class of a request, by its class column or its tenant; nullopt: no class has that name.
using ClassLookup = std::function<std::optional<ClassId>(const TraceRequest&)>;

// The id of a configured tenant by its name; nullopt: no tenant is configured under the name.
using TenantLookup = std::function<std::optional<TenantId>(const std::string&)>;

// The need of storage of a tenant's requests.
using StorageLookup = std::function<StorageNeed(const std::string&)>;

// A tenant that is not configured gets a hash of its name as its id, and zero for rows without one. InvalidArgument
// "file:line: ..." names the first row whose model nothing serves or whose class does not exist.
absl::StatusOr<std::vector<SimulatedArrival>> ArrivalsOf(const Trace& trace, const ModelLookup& model_of,
                                                         const ClassLookup& class_of, const TenantLookup& tenant_of,
                                                         const StorageLookup& storage_of = nullptr);

// Takes the tenants without a request out of the fleet: they change no decision, and every view lists all of them.
void DropIdleTenants(const std::vector<SimulatedArrival>& arrivals, Fleet& fleet);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_
