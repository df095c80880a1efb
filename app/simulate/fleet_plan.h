// The number of GPUs of one kind that a trace needs: the search behind `penstock simulate --plan`.
//
// Dedicated: every model has GPUs of its own. A replica has as many GPUs as its weights need. Each model gets the
// fewest replicas that keep its part of the trace on time. Colocated: for each number of GPUs, from one upwards,
// layouts are tried under the policy, with one elastic KV pool per GPU. One layout has replicas in proportion to the
// load, packed largest weights first. The others give the 0, 1, 2 .. busiest models as many GPUs as they need alone.
// They put all other models on every GPU that is left. Models that do not fit there together may be put there where
// each of them has `sleep`. They wake by demand, each with a cache of its own. The first layout that keeps every model
// on time is the answer, unless the dedicated fleet is smaller. Simulated faults of the fleet file are left out.
#ifndef PENSTOCK_APP_SIMULATE_FLEET_PLAN_H_
#define PENSTOCK_APP_SIMULATE_FLEET_PLAN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/simulation/search/median_interval.h"
#include "bench/traces/trace.h"
#include "config/config.h"

namespace penstock {

struct PlanRequest {
  std::string gpu;  // GPU kind.
  std::string policy = "penstock";
  double on_time = 0.99;  // Least share of each model's feasible requests that must be on time.
  uint64_t seed = 1;
  int most_gpus = 64;
  // For each fleet tried: its outcome, and the share of the search that is done by estimate. May be empty.
  std::function<void(const std::string&, double)> progress;
};

struct PlannedGpu {
  std::string id;
  std::vector<std::string> models;
  bool sleeps = false;  // They do not fit together: they sleep and wake in turn.
};

struct PlannedFleet {
  std::vector<PlannedGpu> gpus;
  double on_time_share = 0;  // The worst model's share of its feasible requests.
  double active_tokens_per_s = 0;
};

struct FleetPlan {
  std::string gpu;   // Kind.
  double price = 0;  // One GPU for an hour; 0: not known.
  PlannedFleet dedicated;
  PlannedFleet colocated;
};

// `config` gives the models (those that its replicas serve), classes and the names of the trace. InvalidArgument: an
// unknown GPU kind or shape, or weights that no eight GPUs hold; ResourceExhausted: `most_gpus` are too few.
absl::StatusOr<FleetPlan> PlanFleet(const Config& config, const bench::Trace& trace, const PlanRequest& request);

// The plans of several GPU kinds. `most_gpus` and shapes may rule kinds out; the others are compared by the price of
// their colocated fleets.
struct PlanComparison {
  std::vector<FleetPlan> plans;                                // At least one.
  size_t cheapest = 0;                                         // Its position. Of one plan, that.
  std::vector<std::pair<std::string, std::string>> ruled_out;  // Kind and reason.
  // GPUs of the cheapest plans of all seeds, this one included.
  int seeds = 1;
  bench::MedianInterval dedicated;
  bench::MedianInterval colocated;
};

// PlanFleet for each of the kinds, whose prices are those of the configuration's GPUs. InvalidArgument: one of several
// kinds has no price. The error of the last kind, where none has a plan.
absl::StatusOr<PlanComparison> ComparePlans(const Config& config, const bench::Trace& trace, PlanRequest request,
                                            const std::vector<std::string>& kinds);

// The plan whose colocated fleet has the median number of GPUs, among the plans of several seeds. Precondition: there
// are plans.
PlanComparison MedianPlan(std::vector<PlanComparison> plans);

// The cheapest plan, and below it all plans where there are several.
std::string PlanJson(const PlanComparison& comparison, const PlanRequest& request);
std::string PlanTable(const PlanComparison& comparison);

}  // namespace penstock

#endif  // PENSTOCK_APP_SIMULATE_FLEET_PLAN_H_
