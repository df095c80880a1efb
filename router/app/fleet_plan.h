// How many GPUs of one kind a trace needs: the search behind `penstock simulate --plan`.
//
// Dedicated: every model has GPUs of its own, each with one replica (as many GPUs per replica as its weights need); the
// fewest replicas per model that keep its part of the trace on time, summed over the models. Colocated: for each number
// of GPUs, from one upwards, two layouts are tried under the policy - every model on every GPU where its weights fit,
// and replicas in proportion to the load, packed largest weights first - with one elastic KV pool per GPU; the first
// that keeps the whole trace on time is the answer, unless the dedicated fleet is smaller.
#ifndef PENSTOCK_ROUTER_APP_FLEET_PLAN_H_
#define PENSTOCK_ROUTER_APP_FLEET_PLAN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/trace.h"
#include "config/config.h"

namespace penstock {

struct PlanRequest {
  std::string gpu;  // Kind.
  std::string policy = "penstock";
  double on_time = 0.99;  // Of feasible requests.
  uint64_t seed = 1;
  int most_gpus = 64;
  std::function<void(const std::string&)> progress;  // One line per fleet tried; may be empty.
};

struct PlannedGpu {
  std::string id;
  std::vector<std::string> models;
};

struct PlannedFleet {
  std::vector<PlannedGpu> gpus;
  double on_time_share = 0;  // Of feasible requests; the worst model's for the dedicated fleet.
};

struct FleetPlan {
  PlannedFleet dedicated;
  PlannedFleet colocated;
};

// `config` gives the models (those that its replicas serve), classes and the names of the trace. InvalidArgument: an
// unknown GPU kind or shape, or weights that no eight GPUs hold; ResourceExhausted: `most_gpus` are too few.
absl::StatusOr<FleetPlan> PlanFleet(const Config& config, const bench::Trace& trace, const PlanRequest& request);

std::string PlanJson(const FleetPlan& plan, const PlanRequest& request);
std::string PlanTable(const FleetPlan& plan, const PlanRequest& request);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_APP_FLEET_PLAN_H_
