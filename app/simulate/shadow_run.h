// A shadow beside a simulated run, and a run of the shadow's policy on the same trace that shows how good it was.
#ifndef PENSTOCK_APP_SIMULATE_SHADOW_RUN_H_
#define PENSTOCK_APP_SIMULATE_SHADOW_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/shadow/policy_shadow.h"
#include "app/simulate/simulation_setup.h"

namespace penstock {

// The shadow's report, and the truth that only a simulation can tell.
struct ShadowOutcome {
  ShadowReport report;
  double window = 0;              // Seconds of arrivals.
  bench::SimulationReport real;   // The run that decided.
  bench::SimulationReport truth;  // A run of the shadow's policy, on the same trace and seed.

  // The shadow's estimates of its own worth, less the truth.
  double OnTimeError() const { return report.counterfactual.shadow.OnTimeShare() - truth.results.on_time_share; }
};

// Runs the simulation of `run` with the shadow beside it, then the shadow's policy alone. The other observer of `run`
// still sees the first run. InvalidArgument: an unknown policy.
absl::StatusOr<ShadowOutcome> RunWithShadow(const SimulationSetup& setup,
                                            const std::vector<bench::SimulatedArrival>& arrivals,
                                            const SimulationRun& run, const std::string& shadow);

// A few lines for people.
std::string ShadowTable(const ShadowOutcome& outcome);
// One JSON object.
std::string ShadowOutcomeJson(const ShadowOutcome& outcome);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_SHADOW_RUN_H_
