#include "app/simulate/fleet_plan.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "app/simulate/fleet_layout.h"
#include "app/simulate/planned_models.h"
#include "app/simulate/simulation_setup.h"

namespace penstock {
namespace {

// The search of one plan: simulates layouts until they keep the models on time.
class Planner {
 public:
  Planner(const Config& config, const bench::Trace& trace, const PlanRequest& request, const GpuKind& kind,
          std::vector<PlannedModel> models)
      : config_(config), trace_(trace), request_(request), models_(std::move(models)), layouts_(models_, kind) {}

  // Sets PlannedModel::alone, which Colocated needs.
  absl::StatusOr<PlannedFleet> Dedicated();
  // A fleet of fewer than `at_most` GPUs; without GPUs where none was found.
  absl::StatusOr<PlannedFleet> Colocated(int at_most);

 private:
  struct Outcome {
    double share = 0;  // On time, of the worst model.
    double active_tokens_per_s = 0;
  };
  absl::StatusOr<Outcome> Try(const FleetLayout& layout, const bench::Trace& trace);
  void Report(const FleetLayout& layout, const bench::SimulationReport& report) const;
  // The requests of one model.
  bench::Trace PartOf(size_t model) const;
  // The fewest replicas of a model that keep its part of the trace on time, and what they reach.
  absl::StatusOr<Outcome> Alone(size_t model, const bench::Trace& part, FleetLayout& own);

  const Config& config_;
  const bench::Trace& trace_;
  const PlanRequest& request_;
  std::vector<PlannedModel> models_;
  LayoutMaker layouts_;  // Refers to models_.
  double tried_ = 0;
  double left_ = 0;  // Layouts still to try, by estimate.
};

void Planner::Report(const FleetLayout& layout, const bench::SimulationReport& report) const {
  if (!request_.progress) return;
  int gpus = 0;
  for (const std::vector<size_t>& group : layout) gpus += layouts_.GpusOf(group);
  request_.progress(absl::StrFormat("%d GPUs of kind %s: %.2f%% of the worst model on time", gpus, request_.gpu,
                                    100 * report.worst_model_share),
                    tried_ / (tried_ + left_));
}

absl::StatusOr<Planner::Outcome> Planner::Try(const FleetLayout& layout, const bench::Trace& trace) {
  absl::StatusOr<SimulationSetup> setup = SetUpSimulation(layouts_.ConfigOf(layout, config_));
  if (!setup.ok()) return setup.status();
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->class_of, setup->tenant_of, setup->storage_of);
  if (!arrivals.ok()) return arrivals.status();
  SimulationRun run;
  run.policy = request_.policy;
  run.seed = request_.seed;
  run.window = trace.length;
  const absl::StatusOr<bench::SimulationReport> report = RunSimulation(*setup, *arrivals, run);
  if (!report.ok()) return report.status();
  ++tried_;
  left_ = std::max(0.0, left_ - 1);
  Report(layout, *report);
  return Outcome{report->worst_model_share, report->results.active_tokens_per_s};
}

bench::Trace Planner::PartOf(size_t model) const {
  bench::Trace part = trace_;
  part.requests.erase(std::remove_if(part.requests.begin(), part.requests.end(),
                                     [&](const bench::TraceRequest& request) {
                                       return PlannedModelOf(config_, models_, request.model) != model;
                                     }),
                      part.requests.end());
  return part;
}

absl::StatusOr<Planner::Outcome> Planner::Alone(size_t model, const bench::Trace& part, FleetLayout& own) {
  Outcome outcome;
  while (outcome.share < request_.on_time) {
    own.push_back({model});
    if (static_cast<int>(own.size()) * models_[model].ranks > request_.most_gpus) {
      return absl::ResourceExhaustedError(absl::StrFormat("%s alone needs more than %d GPUs; %.2f%% on time with them",
                                                          models_[model].name, request_.most_gpus,
                                                          100 * outcome.share));
    }
    const absl::StatusOr<Outcome> reached = Try(own, part);
    if (!reached.ok()) return reached.status();
    outcome = *reached;
    // The share on time grows about as the replicas do, and the models behind this one need about as many.
    const double missing = request_.on_time / std::max(outcome.share, 0.01) - 1;
    const auto tries = static_cast<double>(own.size());
    left_ = std::max(0.0, tries * missing) + tries * static_cast<double>(models_.size() - model);
  }
  return outcome;
}

absl::StatusOr<PlannedFleet> Planner::Dedicated() {
  FleetLayout layout;
  double worst = 1;
  double active = 0;
  for (size_t model = 0; model < models_.size(); ++model) {
    const bench::Trace part = PartOf(model);
    if (part.requests.empty()) continue;
    FleetLayout own;
    const absl::StatusOr<Outcome> outcome = Alone(model, part, own);
    if (!outcome.ok()) return outcome.status();
    worst = std::min(worst, outcome->share);
    active += outcome->active_tokens_per_s;
    models_[model].alone = static_cast<int>(own.size());
    layout.insert(layout.end(), own.begin(), own.end());
  }
  return layouts_.Describe(layout, worst, active);
}

absl::StatusOr<PlannedFleet> Planner::Colocated(int at_most) {
  for (int gpus = 1; gpus < at_most; ++gpus) {
    left_ = static_cast<double>((at_most - gpus) * (models_.size() + 1));
    std::vector<std::optional<FleetLayout>> layouts = {layouts_.InProportion(gpus)};
    for (size_t busiest = 0; busiest < models_.size(); ++busiest) {
      layouts.push_back(layouts_.SharedButFor(busiest, gpus));
    }
    for (const std::optional<FleetLayout>& layout : layouts) {
      if (!layout) continue;
      const absl::StatusOr<Outcome> outcome = Try(*layout, trace_);
      if (!outcome.ok()) return outcome.status();
      if (outcome->share >= request_.on_time) {
        return layouts_.Describe(*layout, outcome->share, outcome->active_tokens_per_s);
      }
    }
  }
  return PlannedFleet{};
}

double PriceOfKind(const Config& config, const std::string& kind) {
  for (const GpuConfig& gpu : config.gpus) {
    if (gpu.kind.name == kind && gpu.price > 0) return gpu.price;
  }
  return 0;
}

}  // namespace

absl::StatusOr<FleetPlan> PlanFleet(const Config& config, const bench::Trace& trace, const PlanRequest& request) {
  const GpuKind* kind = FindGpuKind(request.gpu);
  if (kind == nullptr) {
    const std::string known =
        absl::StrJoin(GpuKinds(), " ", [](std::string* out, const GpuKind& one) { absl::StrAppend(out, one.name); });
    return absl::InvalidArgumentError(absl::StrCat("unknown GPU kind \"", request.gpu, "\"; known: ", known));
  }
  absl::StatusOr<std::vector<PlannedModel>> models = PlannedModelsOf(config, trace, *kind);
  if (!models.ok()) return models.status();
  Planner planner(config, trace, request, *kind, *std::move(models));
  FleetPlan plan;
  plan.gpu = kind->name;
  plan.price = PriceOfKind(config, kind->name);
  absl::StatusOr<PlannedFleet> dedicated = planner.Dedicated();
  if (!dedicated.ok()) return dedicated.status();
  plan.dedicated = *std::move(dedicated);
  absl::StatusOr<PlannedFleet> colocated = planner.Colocated(static_cast<int>(plan.dedicated.gpus.size()));
  if (!colocated.ok()) return colocated.status();
  plan.colocated = colocated->gpus.empty() ? plan.dedicated : *std::move(colocated);
  return plan;
}

absl::StatusOr<PlanComparison> ComparePlans(const Config& config, const bench::Trace& trace, PlanRequest request,
                                            const std::vector<std::string>& kinds) {
  for (const std::string& kind : kinds) {
    const GpuKind* known = FindGpuKind(kind);
    if (kinds.size() > 1 && known != nullptr && PriceOfKind(config, known->name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("several kinds are compared by price, and no GPU of kind ", kind, " has a price"));
    }
  }
  PlanComparison comparison;
  absl::Status failure;
  const auto cost = [](const FleetPlan& plan) { return plan.price * static_cast<double>(plan.colocated.gpus.size()); };
  for (const std::string& kind : kinds) {
    request.gpu = kind;
    absl::StatusOr<FleetPlan> plan = PlanFleet(config, trace, request);
    if (!plan.ok()) {
      failure = plan.status();
      if (FindGpuKind(kind) == nullptr) return failure;
      comparison.ruled_out.emplace_back(kind, std::string(failure.message()));
      continue;
    }
    comparison.plans.push_back(*std::move(plan));
    const size_t last = comparison.plans.size() - 1;
    if (cost(comparison.plans[last]) < cost(comparison.plans[comparison.cheapest])) comparison.cheapest = last;
  }
  if (comparison.plans.empty()) return failure;
  return comparison;
}

PlanComparison MedianPlan(std::vector<PlanComparison> plans) {
  const auto gpus = [](const PlanComparison& plan, PlannedFleet FleetPlan::*fleet) {
    return static_cast<double>((plan.plans[plan.cheapest].*fleet).gpus.size());
  };
  std::vector<double> dedicated, colocated;
  for (const PlanComparison& plan : plans) {
    dedicated.push_back(gpus(plan, &FleetPlan::dedicated));
    colocated.push_back(gpus(plan, &FleetPlan::colocated));
  }
  std::stable_sort(plans.begin(), plans.end(), [&](const PlanComparison& a, const PlanComparison& b) {
    return gpus(a, &FleetPlan::colocated) < gpus(b, &FleetPlan::colocated);
  });
  PlanComparison median = plans[bench::MedianPosition(plans.size())];
  median.seeds = static_cast<int>(plans.size());
  median.dedicated = bench::MedianIntervalOf(std::move(dedicated));
  median.colocated = bench::MedianIntervalOf(std::move(colocated));
  return median;
}

}  // namespace penstock
