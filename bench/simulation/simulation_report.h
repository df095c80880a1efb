// The report of `penstock simulate`: the results that it shares with `load`, and the figures of a simulation alone.
//
// JSON fields beyond those of bench/figures/results.h (rates are tokens per second over the duration):
//
//   policy, seed
//       As given.
//   early_refusals
//       Requests that were refused for lateness before their last chance had passed.
//   wrong_refusals
//       Those of them that are on time in a second run: the same core without early refusals, the same trace and seed.
//       Below the knee this is the cost of early refusals. Above it the second run serves them in the place of others.
//       null where no second run was made.
//   retries
//       {offered, served, on_time} of requests that came back once after their Retry-After (--retry). They count in all
//       other figures as requests of their own.
//   cost
//       {per_hour, per_million_active_tokens} of all GPUs, asleep or not. Left out where a GPU has no price.
//   sleep
//       {sleeps, wakes, failed, asleep_s}: orders to engines, those that failed, and the seconds asleep of all
//       replicas. Left out where no replica sleeps by order.
//   adapters
//       {loads, failed}: adapters that engines loaded, by order or for a request. Left out where no replica loads any.
//   feasible
//       {offered, on_time_share, worst_model_on_time_share} of feasible requests (fluid_bound.h), and of those of the
//       model that has least.
//   on_time_prompt_tokens_per_s
//       Prompt tokens of requests that were on time.
//   cached_prompt_tokens
//       Prompt tokens that the engines had cached, of all requests that an engine ended.
//   per_gpu
//       As per_replica, by the replica's first GPU.
//   fluid_bound_tokens_per_s
//       Active tokens that no router could exceed (fluid_bound.h).
//   hindsight_bound_tokens_per_s
//       The same with all arrivals known and both fluids at once (hindsight_bound.h). null where it was not asked for.
//   loss
//       {roofline, active, late, recomputed, abandoned, batching, idle_with_queue, idle_without_demand}: the first is
//       the sum of the others. roofline is the tokens that the GPUs could make with full decode batches, for requests
//       of the lengths that finished. active, late and abandoned count deliveries in [0, duration). batching is the
//       rest: prefill, steps with less than full batches, neighbours, slow replicas. A GPU that is down or asleep
//       counts as without demand.
//   gpu_seconds
//       By GPU: {productive, slow, for_nobody, blocked, elsewhere, idle, asleep, down} (docs/gpu-seconds.md).
//   gpu_time
//       {states, work, productive_gpu_hours, productive_share, waiting_for_input_s} of all GPUs together. work divides
//       productive, slow and for_nobody: {floor, decode, kv_reads, prefill, recompute, stall, gaps}
//       (docs/gpu-seconds.md).
//   forecast
//       pool_error_{1,10,60}s_{mean,p90,peak} of |forecast - actual| over capacity, and _bias with its sign. _expected
//       is the 90th percentile that the forecast's own variance gives, on average; _within is the share of the errors
//       up to it. _floor is that percentile for a pace that is known: the chance of the lengths alone.
//       output_coverage_p{50,90,99}, output_pinball_p{50,90,99} (tokens); prompt_error_{p50,p95}; cached_expected,
//       cached_found: parts of the prompts of ended requests. null where the policy makes no such forecast, or none
//       came due.
//   grey
//       By replica that was derated or stalled: {derate, found_at_s, found_after_steps, events}. The derate at the end;
//       the time of the newest derate, and the steps of the replica from the first slow one to it; begins by cause.
//   decision_us
//       {p50, p99, max}: real time of a decision, the only figure that differs between equal runs.
#ifndef PENSTOCK_BENCH_SIMULATION_SIMULATION_REPORT_H_
#define PENSTOCK_BENCH_SIMULATION_SIMULATION_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/figures/results.h"
#include "bench/simulation/simulation_accounts.h"

namespace penstock::bench {

struct SimulationReport {
  Results results;
  std::string policy;
  uint64_t seed = 1;
  int64_t early_refusals = 0;
  std::optional<int64_t> wrong_refusals;  // Unknown where no second run was made.
  struct Retries {
    int64_t offered = 0;
    int64_t served = 0;
    int64_t on_time = 0;
  };
  std::optional<Retries> retries;  // Known after a run with retries.
  // Known where every GPU has a price.
  struct Cost {
    double per_hour = 0;
    double per_million_active_tokens = 0;  // 0 without active tokens.
  };
  std::optional<Cost> cost;
  std::optional<OrderCounts> orders;  // Known where a replica sleeps by order.
  std::optional<LoadCounts> loads;    // Known where a replica loads adapters.
  int64_t feasible_offered = 0;
  double feasible_on_time_share = 0;  // 1 when there are none.
  double worst_model_share = 1;       // The smallest on-time share of a model.
  double on_time_prompt_tokens_per_s = 0;
  int64_t cached_prompt_tokens = 0;
  std::map<std::string, GroupResults> per_gpu;
  double fluid_bound = 0;
  std::optional<double> hindsight_bound;  // Known where it was asked for.
  std::vector<std::pair<std::string, double>> loss;
  std::vector<std::pair<std::string, GpuTime>> gpu_time;
  StepTime work;    // Of all GPUs, as seconds of the time in which requests ran.
  double gaps = 0;  // The rest of that time: no step was in flight.
  // KV memory that was free and fitted nobody while requests waited for memory.
  struct Stranded {
    double mean_share = 0;      // Of the capacity, over the window.
    double waited_seconds = 0;  // For which requests waited for the memory of the pool.
  };
  std::vector<std::pair<std::string, Stranded>> stranded;
  std::vector<double> stranded_series;  // Mean share, by StrandedSeries::kSlices of the window.
  std::vector<std::pair<std::string, GreyView>> grey;
  Percentiles decision_us;
  double decision_us_max = 0;
};

// Uses up `outcome`.
SimulationReport ReportOf(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals,
                          Duration window, SimulationOutcome outcome);

std::string ReportJson(const SimulationReport& report);
std::string ReportTable(const SimulationReport& report);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_SIMULATION_REPORT_H_
