// A trace as the arrivals of a simulated fleet.
#ifndef PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_
#define PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/simulation/fleet_simulation.h"
#include "bench/trace.h"
#include "kvmodel/ids.h"

namespace penstock::bench {

// The model that serves a name of the trace; nullopt: none.
using ModelLookup = std::function<std::optional<ModelId>(const std::string&)>;

// All requests in `priority`. A tenant's id is a hash of its name, zero for rows without one. InvalidArgument
// "file:line: ..." for the first row whose model nothing serves.
absl::StatusOr<std::vector<SimulatedArrival>> ArrivalsOf(const Trace& trace, const ModelLookup& model_of,
                                                         ClassId priority);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ARRIVALS_H_
