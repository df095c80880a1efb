// A configuration and a trace, made ready for the discrete-event simulation, and one run of it.
#ifndef PENSTOCK_APP_SIMULATE_SIMULATION_SETUP_H_
#define PENSTOCK_APP_SIMULATE_SIMULATION_SETUP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/simulation/arrivals.h"
#include "bench/simulation/fleet_simulation.h"
#include "bench/simulation/simulation_report.h"
#include "bench/traces/trace.h"
#include "config/config.h"

namespace penstock {

// The fleet, its engines, and the meaning of the trace's names. A value; cheap to copy.
struct SimulationSetup {
  bench::SimulatedFleetSpec spec;
  bench::ModelLookup model_of;
  bench::ClassLookup class_of;
  bench::TenantLookup tenant_of;
  bench::StorageLookup storage_of;
};

// Replicas without `simulated` are simulated with their own limits. InvalidArgument names the replica whose shape, GPU
// or memory is unknown.
absl::StatusOr<SimulationSetup> SetUpSimulation(Config config);

// The requests of a window (trace.h); OutOfRange where none arrives in it.
absl::StatusOr<bench::Trace> OpenWindow(const std::string& trace, const bench::TraceWindow& window, uint64_t seed);

struct SimulationRun {
  std::string policy = "penstock";  // Any name of router/policies, `informed` included.
  uint64_t seed = 1;
  Duration window;
  // Plain `informed` compares its orders by the requests on time; false: by active tokens and goodput.
  bool most_on_time = false;
  double enough_on_time = 2;  // With most_on_time: no further variant is tried where one has this share on time.
  double prompt_bias = 0;     // SimulationOptions::prompt_bias.
  bool one_pool = false;      // SimulationOptions::one_pool.
  bool retry = false;         // Refused clients come back once, after their Retry-After.
  bool bounds = false;        // Finds the hindsight bound.
  bool count_wrong = false;   // Runs once more without early refusals, for `wrong_refusals`.
  std::function<void(Duration, int64_t)> progress;  // Virtual time and requests ended; may be empty.
  bench::FleetSimulation::Observer observer;        // Sees every event and action; may be empty.
  // Gets the core in charge before each run, and null after it; may be empty.
  std::function<void(const AdmissionCore*)> on_core;
};

// Equal arguments give equal reports but for decision_us. InvalidArgument: an unknown policy or setting. Plain
// `informed` runs each of its variants and reports the one with the most active tokens and goodput.
absl::StatusOr<bench::SimulationReport> RunSimulation(const SimulationSetup& setup,
                                                      const std::vector<bench::SimulatedArrival>& arrivals,
                                                      const SimulationRun& run);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_SIMULATION_SETUP_H_
