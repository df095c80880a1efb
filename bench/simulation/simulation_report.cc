#include "bench/simulation/simulation_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/figures/results_json.h"
#include "bench/simulation/fluid_bound.h"

namespace penstock::bench {
namespace {

using Json = nlohmann::ordered_json;

// Printed as null.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Quantile(std::vector<double>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

// Standard deviations within which 90 % of normal errors lie.
constexpr double kNinetyPercent = 1.645;

void AddPoolErrors(const std::string& horizon, const std::vector<PoolView::ForecastError>& errors,
                   std::map<std::string, double>& out) {
  const std::string name = absl::StrCat("pool_error_", horizon);
  for (const char* figure : {"_mean", "_p90", "_peak", "_bias", "_expected", "_within", "_floor"})
    out[name + figure] = kUnknown;
  if (errors.empty()) return;
  std::vector<double> sizes;
  sizes.reserve(errors.size());
  double bias = 0;
  double expected = 0;
  double floor = 0;
  double within = 0;
  for (const PoolView::ForecastError& each : errors) {
    sizes.push_back(std::abs(each.error));
    bias += each.error;
    expected += kNinetyPercent * each.sigma;
    floor += kNinetyPercent * each.lengths;
    within += std::abs(each.error) <= kNinetyPercent * each.sigma ? 1 : 0;
  }
  std::sort(sizes.begin(), sizes.end());
  const auto count = static_cast<double>(errors.size());
  out[name + "_mean"] = std::accumulate(sizes.begin(), sizes.end(), 0.0) / count;
  out[name + "_p90"] = Quantile(sizes, 0.9);
  out[name + "_peak"] = sizes.back();
  out[name + "_bias"] = bias / count;
  out[name + "_expected"] = expected / count;
  out[name + "_within"] = within / count;
  out[name + "_floor"] = floor / count;
}

std::map<std::string, double> ForecastOf(const SimulationOutcome& outcome) {
  std::map<std::string, double> forecast;
  constexpr std::array<const char*, kForecastChecks> kHorizonNames = {"1s", "10s", "60s"};
  for (size_t i = 0; i < kForecastChecks; ++i) AddPoolErrors(kHorizonNames[i], outcome.pool_errors[i], forecast);
  for (const char* quantile : {"p50", "p90", "p99"}) {
    forecast[absl::StrCat("output_coverage_", quantile)] = kUnknown;
    forecast[absl::StrCat("output_pinball_", quantile)] = kUnknown;
  }
  const CoreCounters& counters = outcome.final_view.counters;
  if (counters.outputs_observed > 0) {
    const auto count = static_cast<double>(counters.outputs_observed);
    forecast["output_coverage_p50"] = static_cast<double>(counters.outputs_below_p50) / count;
    forecast["output_coverage_p90"] = static_cast<double>(counters.outputs_below_p90) / count;
    forecast["output_coverage_p99"] = static_cast<double>(counters.outputs_below_p99) / count;
    forecast["output_pinball_p50"] = counters.pinball_p50 / count;
    forecast["output_pinball_p90"] = counters.pinball_p90 / count;
    forecast["output_pinball_p99"] = counters.pinball_p99 / count;
  }
  forecast["cached_expected"] = forecast["cached_found"] = kUnknown;
  if (counters.prompts_compared > 0) {
    const auto compared = static_cast<double>(counters.prompts_compared);
    forecast["cached_expected"] = static_cast<double>(counters.cached_expected) / compared;
    forecast["cached_found"] = static_cast<double>(counters.cached_found) / compared;
  }
  std::vector<double> prompts;
  prompts.reserve(outcome.prompt_errors.size());
  for (const double error : outcome.prompt_errors) prompts.push_back(std::abs(error));
  std::sort(prompts.begin(), prompts.end());
  if (!prompts.empty()) {
    forecast["prompt_error_p50"] = Quantile(prompts, 0.5);
    forecast["prompt_error_p95"] = Quantile(prompts, 0.95);
  }
  return forecast;
}

// Rates of the tokens delivered within the window.
struct Delivered {
  double active = 0;
  double late = 0;
  double abandoned = 0;
};

Delivered DeliveredOf(const std::vector<RequestRecord>& records, double seconds) {
  Delivered sums;
  for (const RequestRecord& record : records) {
    const auto all = static_cast<double>(record.tokens.in_window()) / seconds;
    const auto late = static_cast<double>(record.tokens.late_in_window()) / seconds;
    if (record.fate == Fate::kFinished) {
      sums.active += all - late;
      sums.late += late;
    } else {
      sums.abandoned += all;
    }
  }
  return sums;
}

SimulationReport::Retries RetriesOf(const std::vector<RequestRecord>& records, size_t first) {
  SimulationReport::Retries retries;
  for (size_t i = first; i < records.size(); ++i) {
    ++retries.offered;
    retries.served += records[i].fate == Fate::kFinished;
    retries.on_time += records[i].OnTime();
  }
  return retries;
}

void AddLoss(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, double seconds,
             const SimulationOutcome& outcome, SimulationReport& report) {
  std::vector<SimulatedArrival> finished;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    if (outcome.records[i].fate == Fate::kFinished) finished.push_back(arrivals[i]);
  }
  const std::vector<double> rates = GpuRooflines(spec, finished.empty() ? arrivals : finished);
  const Delivered delivered = DeliveredOf(outcome.records, seconds);
  const double recomputed = static_cast<double>(outcome.recomputed_tokens) / seconds;
  double roofline = 0;
  double queued = 0;
  double unasked = 0;
  for (size_t gpu = 0; gpu < rates.size(); ++gpu) {
    const auto spent = [&](GpuState state) { return rates[gpu] * outcome.gpu_time[gpu][state] / seconds; };
    roofline += rates[gpu];
    queued += spent(GpuState::kBlocked) + spent(GpuState::kWaiting);
    unasked += spent(GpuState::kIdle) + spent(GpuState::kElsewhere) + spent(GpuState::kAsleep) + spent(GpuState::kDown);
  }
  const double known = delivered.active + delivered.late + delivered.abandoned + recomputed + queued + unasked;
  report.loss = {{"roofline", roofline},      {"active", delivered.active},       {"late", delivered.late},
                 {"recomputed", recomputed},  {"abandoned", delivered.abandoned}, {"batching", roofline - known},
                 {"idle_with_queue", queued}, {"idle_without_demand", unasked}};
}

void AddDecisionTimes(SimulationOutcome& outcome, SimulationReport& report) {
  if (outcome.decision_us.empty()) return;
  report.decision_us_max = *std::max_element(outcome.decision_us.begin(), outcome.decision_us.end());
  report.decision_us = *PercentilesOf(std::move(outcome.decision_us));
}

std::optional<OrderCounts> OrdersOf(const Fleet& fleet, const SimulationOutcome& outcome) {
  const auto sleeps = [](const ReplicaSpec& replica) { return replica.sleep.has_value(); };
  if (std::none_of(fleet.replicas.begin(), fleet.replicas.end(), sleeps)) return std::nullopt;
  return outcome.orders;
}

std::optional<SimulationReport::Cost> CostOf(const std::vector<double>& prices, double active_tokens_per_s) {
  if (prices.empty() || std::find(prices.begin(), prices.end(), 0.0) != prices.end()) return std::nullopt;
  SimulationReport::Cost cost;
  cost.per_hour = std::accumulate(prices.begin(), prices.end(), 0.0);
  if (active_tokens_per_s > 0) cost.per_million_active_tokens = cost.per_hour / 3600 / active_tokens_per_s * 1e6;
  return cost;
}

std::optional<LoadCounts> LoadsOf(const Fleet& fleet, const SimulationOutcome& outcome) {
  const auto loads = [](const ReplicaSpec& replica) { return !replica.adapters.on_demand.empty(); };
  if (std::none_of(fleet.replicas.begin(), fleet.replicas.end(), loads)) return std::nullopt;
  return outcome.loads;
}

std::vector<std::pair<std::string, GreyView>> GreyOf(const CoreView& view) {
  std::vector<std::pair<std::string, GreyView>> found;
  for (const ReplicaView& replica : view.replicas) {
    if (replica.grey.events != GreyView().events) found.emplace_back(replica.name, replica.grey);
  }
  return found;
}

void AddStranded(const SimulatedFleetSpec& spec, double seconds, SimulationOutcome& outcome, SimulationReport& report) {
  for (size_t i = 0; i < outcome.stranded.size(); ++i) {
    const StrandedMemory& pool = outcome.stranded[i];
    const double capacity = std::max(1.0, spec.fleet.pools[i].capacity.AsDouble());
    report.stranded.push_back({pool.name, {pool.amount_seconds / capacity / seconds, pool.seconds}});
  }
  report.stranded_series = std::move(outcome.stranded_series);
}

void AddGpuTime(const SimulatedFleetSpec& spec, const SimulationOutcome& outcome, SimulationReport& report) {
  for (size_t gpu = 0; gpu < outcome.gpu_time.size(); ++gpu) {
    const std::string name = spec.gpu_names.empty() ? absl::StrCat("gpu", gpu) : spec.gpu_names[gpu];
    const GpuTime& time = outcome.gpu_time[gpu];
    report.gpu_time.emplace_back(name, time);
    const double busy = time[GpuState::kProductive] + time[GpuState::kSlow] + time[GpuState::kForNobody];
    const double stepped = outcome.step_time[gpu].total();
    // Steps that overlap, as under MPS, share the time.
    report.work.Add(outcome.step_time[gpu], stepped > busy ? busy / stepped : 1);
    report.gaps += std::max(0.0, busy - stepped);
  }
  if (outcome.recomputed_tokens == 0) return;
  report.results.wasted_tokens_per_s["recomputed"] = *report.results.recomputed_tokens_per_s;
}

}  // namespace

SimulationReport ReportOf(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals,
                          Duration window, SimulationOutcome outcome) {
  SimulationReport report;
  const double seconds = window.seconds();
  report.results = Summarise(outcome.records, window);
  report.grey = GreyOf(outcome.final_view);
  report.orders = OrdersOf(spec.fleet, outcome);
  report.loads = LoadsOf(spec.fleet, outcome);
  report.early_refusals =
      std::count_if(outcome.records.begin(), outcome.records.end(), [](const auto& r) { return r.early; });
  report.results.preemptions = outcome.preemptions;
  report.results.recomputed_tokens_per_s = static_cast<double>(outcome.recomputed_tokens) / seconds;
  report.results.forecast = ForecastOf(outcome);
  if (outcome.records.size() > arrivals.size()) report.retries = RetriesOf(outcome.records, arrivals.size());
  int64_t on_time = 0;
  double prompts = 0;
  std::map<std::string, std::vector<RequestRecord>> by_gpu;
  struct Share {
    int64_t offered = 0;
    int64_t on_time = 0;
  };
  std::map<std::string, Share> by_model;  // Feasible requests only.
  for (const RequestRecord& record : outcome.records) {
    const bool timely = record.OnTime();
    if (timely) prompts += record.prompt.AsDouble();
    if (!record.gpu.empty()) by_gpu[record.gpu].push_back(record);
    if (!record.feasible) continue;
    ++report.feasible_offered;
    on_time += timely ? 1 : 0;
    Share& model = by_model[record.model];
    ++model.offered;
    model.on_time += timely ? 1 : 0;
  }
  for (const auto& [name, share] : by_model) {
    report.worst_model_share =
        std::min(report.worst_model_share, static_cast<double>(share.on_time) / static_cast<double>(share.offered));
  }
  report.feasible_on_time_share =
      report.feasible_offered == 0 ? 1 : static_cast<double>(on_time) / static_cast<double>(report.feasible_offered);
  report.on_time_prompt_tokens_per_s = prompts / seconds;
  report.cached_prompt_tokens = outcome.cached_tokens;
  for (const auto& [gpu, records] : by_gpu) report.per_gpu[gpu] = GroupOf(records, window);
  report.fluid_bound = FluidBound(spec, arrivals, window);
  AddLoss(spec, arrivals, seconds, outcome, report);
  AddGpuTime(spec, outcome, report);
  AddStranded(spec, seconds, outcome, report);
  report.cost = CostOf(spec.gpu_prices, report.results.active_tokens_per_s);
  AddDecisionTimes(outcome, report);
  return report;
}

}  // namespace penstock::bench
