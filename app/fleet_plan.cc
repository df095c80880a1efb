#include "app/fleet_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "app/simulation_setup.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

// Of a GPU's memory: what engines may use, and what each takes beside weights and cache (docs/step-time.md).
constexpr double kUsable = 0.92;
constexpr double kEngineBytes = 4e9;
// A replica without room for this many tokens of cache is no replica.
constexpr int64_t kLeastCacheTokens = 8192;
constexpr int kMostRanks = 8;

struct PlannedModel {
  std::string name;
  ReplicaConfig like;    // Engine limits to copy.
  double weights = 0;    // Bytes of the whole model.
  double per_token = 0;  // Bytes of cache.
  int ranks = 1;         // GPUs that one replica needs.
  int alone = 0;         // Replicas that it needs with GPUs of its own; 0: it has no requests.
  double work = 0;       // Output tokens of the trace, weighted by size: what shares of GPUs are made of.
};

class Planner {
 public:
  Planner(const Config& config, const bench::Trace& trace, const PlanRequest& request, const GpuKind& kind)
      : config_(config), trace_(trace), request_(request), kind_(kind) {}

  absl::Status ReadModels();
  absl::StatusOr<PlannedFleet> Dedicated();
  absl::StatusOr<PlannedFleet> Colocated(int at_most);

 private:
  // models[i]: positions of the models on the i-th group of GPUs.
  using Layout = std::vector<std::vector<size_t>>;

  double Room(int ranks) const { return kUsable * kind_.memory.AsDouble() * ranks; }
  double NeededBy(const PlannedModel& model, int ranks) const {
    return model.weights + kEngineBytes * ranks + static_cast<double>(kLeastCacheTokens) * model.per_token;
  }
  bool Fits(const std::vector<size_t>& models) const;
  Config ConfigOf(const Layout& layout) const;
  absl::StatusOr<double> ShareOnTime(const Layout& layout, const bench::Trace& trace) const;
  PlannedFleet Describe(const Layout& layout, double share) const;
  // The busiest models, and those that no GPU holds, as in the dedicated fleet; all others on each GPU left.
  std::optional<Layout> SharedButFor(size_t busiest, int gpus) const;
  std::optional<Layout> InProportion(int gpus) const;
  bench::Trace PartOf(size_t model) const;
  size_t ModelOf(const std::string& name) const;

  const Config& config_;
  const bench::Trace& trace_;
  const PlanRequest& request_;
  const GpuKind& kind_;
  std::vector<PlannedModel> models_;
  std::vector<size_t> by_work_;  // Positions of models, most work first.
};

size_t Planner::ModelOf(const std::string& name) const {
  const auto mapped = config_.trace.models.find(name);
  std::string wanted = mapped == config_.trace.models.end() ? name : mapped->second;
  if (const ModelConfig* model = FindModel(config_, wanted)) wanted = model->name;
  if (wanted.empty() && models_.size() == 1) return 0;
  const auto found =
      std::find_if(models_.begin(), models_.end(), [&](const PlannedModel& model) { return model.name == wanted; });
  return static_cast<size_t>(found - models_.begin());
}

absl::Status Planner::ReadModels() {
  for (const ReplicaConfig& replica : config_.replicas) {
    const ModelConfig* named = FindModel(config_, replica.model);
    const std::string name = named == nullptr ? replica.model : named->name;
    const bool known =
        std::any_of(models_.begin(), models_.end(), [&](const PlannedModel& model) { return model.name == name; });
    if (known) continue;
    const ModelShape* shape = ShapeOfModel(config_, replica.model);
    if (shape == nullptr || shape->parameters <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("the shape of model \"", replica.model, "\" is unknown"));
    }
    PlannedModel& model = models_.emplace_back();
    model.name = name;
    model.like = replica;
    model.weights = shape->Weights(named ? named->bytes_per_parameter : 2).AsDouble();
    ReplicaConfig alone = replica;
    alone.gpus = {};
    alone.tensor_parallel = 1;
    model.per_token = ReplicaFootprint(config_, alone, replica.model, Tokens(16))->full_per_token;
    while (model.ranks <= kMostRanks && NeededBy(model, model.ranks) > Room(model.ranks)) model.ranks *= 2;
    if (model.ranks > kMostRanks) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s does not fit on %d GPUs of kind %s", name, kMostRanks, kind_.name));
    }
  }
  for (const bench::TraceRequest& request : trace_.requests) {
    const size_t model = ModelOf(request.model);
    if (model == models_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(trace_.source, ":", request.line, ": no replica serves the model \"", request.model, "\""));
    }
    models_[model].work += (request.output.AsDouble() + 0.1 * request.prompt.AsDouble()) * models_[model].weights;
  }
  by_work_.resize(models_.size());
  std::iota(by_work_.begin(), by_work_.end(), size_t{0});
  std::stable_sort(by_work_.begin(), by_work_.end(),
                   [&](size_t a, size_t b) { return models_[a].work > models_[b].work; });
  return absl::OkStatus();
}

bool Planner::Fits(const std::vector<size_t>& models) const {
  double needed = 0;
  for (const size_t model : models) needed += NeededBy(models_[model], 1);
  return needed <= Room(1);
}

Config Planner::ConfigOf(const Layout& layout) const {
  Config config = config_;
  config.gpus.clear();
  config.replicas.clear();
  for (const std::vector<size_t>& models : layout) {
    const int ranks = models.size() == 1 ? models_[models.front()].ranks : 1;
    std::vector<std::string> ids;
    double weights = 0;
    for (const size_t model : models) weights += models_[model].weights;
    for (int rank = 0; rank < ranks; ++rank) {
      GpuConfig& gpu = config.gpus.emplace_back();
      gpu.id = absl::StrCat("gpu", config.gpus.size() - 1);
      gpu.kind = kind_;
      if (models.size() > 1) {
        gpu.elastic_kv =
            Bytes(static_cast<int64_t>(Room(1) - weights - kEngineBytes * static_cast<double>(models.size())));
      }
      ids.push_back(gpu.id);
    }
    for (const size_t model : models) {
      ReplicaConfig& replica = config.replicas.emplace_back(models_[model].like);
      replica.id = absl::StrCat(models_[model].name, "-", config.replicas.size());
      replica.url.clear();
      replica.gpus = ids;
      replica.tensor_parallel = ranks;
      replica.kv_tokens.reset();
      replica.kv_memory.reset();
      if (replica.simulated) {
        // A planned GPU is a sound one.
        replica.simulated->slowdown = {};
        replica.simulated->outage.reset();
        replica.simulated->sleep.reset();
      }
    }
  }
  return config;
}

absl::StatusOr<double> Planner::ShareOnTime(const Layout& layout, const bench::Trace& trace) const {
  absl::StatusOr<SimulationSetup> setup = SetUpSimulation(ConfigOf(layout));
  if (!setup.ok()) return setup.status();
  const auto arrivals = bench::ArrivalsOf(trace, setup->model_of, setup->service_class);
  if (!arrivals.ok()) return arrivals.status();
  SimulationRun run;
  run.policy = request_.policy;
  run.seed = request_.seed;
  run.window = trace.length;
  const absl::StatusOr<bench::SimulationReport> report = RunSimulation(*setup, *arrivals, run);
  if (!report.ok()) return report.status();
  if (request_.progress) {
    size_t gpus = 0;
    for (const std::vector<size_t>& models : layout) {
      gpus += models.size() == 1 ? static_cast<size_t>(models_[models.front()].ranks) : 1;
    }
    request_.progress(absl::StrFormat("%d GPUs, %d replicas: %.2f%% of the worst model's feasible requests on time",
                                      gpus, setup->spec.replicas.size(), 100 * report->worst_model_share));
  }
  return report->worst_model_share;
}

PlannedFleet Planner::Describe(const Layout& layout, double share) const {
  PlannedFleet fleet;
  fleet.on_time_share = share;
  for (const std::vector<size_t>& models : layout) {
    const int ranks = models.size() == 1 ? models_[models.front()].ranks : 1;
    for (int rank = 0; rank < ranks; ++rank) {
      PlannedGpu& gpu = fleet.gpus.emplace_back();
      gpu.id = absl::StrCat("gpu", fleet.gpus.size() - 1);
      for (const size_t model : models) gpu.models.push_back(models_[model].name);
    }
  }
  return fleet;
}

bench::Trace Planner::PartOf(size_t model) const {
  bench::Trace part = trace_;
  part.requests.erase(
      std::remove_if(part.requests.begin(), part.requests.end(),
                     [&](const bench::TraceRequest& request) { return ModelOf(request.model) != model; }),
      part.requests.end());
  return part;
}

absl::StatusOr<PlannedFleet> Planner::Dedicated() {
  Layout layout;
  double worst = 1;
  for (size_t model = 0; model < models_.size(); ++model) {
    const bench::Trace part = PartOf(model);
    if (part.requests.empty()) continue;
    Layout own;
    double share = 0;
    while (share < request_.on_time) {
      own.push_back({model});
      if (static_cast<int>(own.size()) * models_[model].ranks > request_.most_gpus) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("%s alone needs more than %d GPUs; %.2f%% on time with them", models_[model].name,
                            request_.most_gpus, 100 * share));
      }
      const absl::StatusOr<double> reached = ShareOnTime(own, part);
      if (!reached.ok()) return reached.status();
      share = *reached;
    }
    worst = std::min(worst, share);
    models_[model].alone = static_cast<int>(own.size());
    layout.insert(layout.end(), own.begin(), own.end());
  }
  return Describe(layout, worst);
}

std::optional<Planner::Layout> Planner::SharedButFor(size_t busiest, int gpus) const {
  Layout layout;
  std::vector<size_t> shared;
  int left = gpus;
  for (size_t i = 0; i < by_work_.size(); ++i) {
    const PlannedModel& model = models_[by_work_[i]];
    if (model.alone == 0) continue;
    if (i >= busiest && model.ranks == 1) {
      shared.push_back(by_work_[i]);
      continue;
    }
    for (int replica = 0; replica < model.alone; ++replica) layout.push_back({by_work_[i]});
    left -= model.alone * model.ranks;
  }
  if (shared.empty() || left < 1 || !Fits(shared)) return std::nullopt;
  for (int i = 0; i < left; ++i) layout.push_back(shared);
  return layout;
}

std::optional<Planner::Layout> Planner::InProportion(int gpus) const {
  const double all = std::accumulate(models_.begin(), models_.end(), 0.0,
                                     [](double sum, const PlannedModel& model) { return sum + model.work; });
  Layout layout;
  int left = gpus;
  std::vector<size_t> order;
  for (size_t model = 0; model < models_.size(); ++model) {
    if (models_[model].ranks == 1) {
      order.push_back(model);
      continue;
    }
    const double wanted = models_[model].work / all * gpus / models_[model].ranks;
    for (int i = 0; i < std::max(1, static_cast<int>(std::lround(wanted))); ++i) {
      layout.push_back({model});
      left -= models_[model].ranks;
    }
  }
  if (left < (order.empty() ? 0 : 1)) return std::nullopt;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return models_[a].weights > models_[b].weights; });
  std::vector<std::vector<size_t>> shared(static_cast<size_t>(left));
  std::vector<double> load(static_cast<size_t>(left), 0);
  for (const size_t model : order) {
    // No more replicas than the load asks for: each pays the step floor again.
    const double wanted = models_[model].work / all * gpus;
    const int copies = std::clamp(static_cast<int>(std::ceil(wanted)), 1, left);
    for (int copy = 0; copy < copies; ++copy) {
      size_t best = shared.size();
      for (size_t i = 0; i < shared.size(); ++i) {
        if (std::find(shared[i].begin(), shared[i].end(), model) != shared[i].end()) continue;
        std::vector<size_t> with = shared[i];
        with.push_back(model);
        if (Fits(with) && (best == shared.size() || load[i] < load[best])) best = i;
      }
      if (best == shared.size()) {
        if (copy == 0) return std::nullopt;
        break;
      }
      shared[best].push_back(model);
      load[best] += models_[model].work / copies;
    }
  }
  for (std::vector<size_t>& models : shared) {
    if (!models.empty()) layout.push_back(std::move(models));
  }
  return layout;
}

absl::StatusOr<PlannedFleet> Planner::Colocated(int at_most) {
  for (int gpus = 1; gpus < at_most; ++gpus) {
    std::vector<std::optional<Layout>> layouts = {InProportion(gpus)};
    for (size_t busiest = 0; busiest < models_.size(); ++busiest) layouts.push_back(SharedButFor(busiest, gpus));
    for (const std::optional<Layout>& layout : layouts) {
      if (!layout) continue;
      const absl::StatusOr<double> share = ShareOnTime(*layout, trace_);
      if (!share.ok()) return share.status();
      if (*share >= request_.on_time) return Describe(*layout, *share);
    }
  }
  return PlannedFleet{};
}

nlohmann::ordered_json FleetJson(const PlannedFleet& fleet) {
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  for (const PlannedGpu& gpu : fleet.gpus) gpus.push_back({{"id", gpu.id}, {"models", gpu.models}});
  return {{"gpus", fleet.gpus.size()}, {"feasible_on_time_share", fleet.on_time_share}, {"layout", gpus}};
}

}  // namespace

absl::StatusOr<FleetPlan> PlanFleet(const Config& config, const bench::Trace& trace, const PlanRequest& request) {
  const GpuKind* kind = FindGpuKind(request.gpu);
  if (kind == nullptr) {
    const std::string known =
        absl::StrJoin(GpuKinds(), " ", [](std::string* out, const GpuKind& one) { absl::StrAppend(out, one.name); });
    return absl::InvalidArgumentError(absl::StrCat("unknown GPU kind \"", request.gpu, "\"; known: ", known));
  }
  Planner planner(config, trace, request, *kind);
  if (const absl::Status read = planner.ReadModels(); !read.ok()) return read;
  FleetPlan plan;
  absl::StatusOr<PlannedFleet> dedicated = planner.Dedicated();
  if (!dedicated.ok()) return dedicated.status();
  plan.dedicated = *std::move(dedicated);
  absl::StatusOr<PlannedFleet> colocated = planner.Colocated(static_cast<int>(plan.dedicated.gpus.size()));
  if (!colocated.ok()) return colocated.status();
  plan.colocated = colocated->gpus.empty() ? plan.dedicated : *std::move(colocated);
  return plan;
}

std::string PlanJson(const FleetPlan& plan, const PlanRequest& request) {
  const auto dedicated = static_cast<double>(plan.dedicated.gpus.size());
  const auto colocated = static_cast<double>(plan.colocated.gpus.size());
  const nlohmann::ordered_json json = {{"gpu", request.gpu},
                                       {"policy", request.policy},
                                       {"on_time", request.on_time},
                                       {"dedicated", FleetJson(plan.dedicated)},
                                       {"colocated", FleetJson(plan.colocated)},
                                       {"saving", 1 - colocated / std::max(1.0, dedicated)}};
  return json.dump();
}

std::string PlanTable(const FleetPlan& plan, const PlanRequest& request) {
  std::string text;
  const auto fleet = [&](const char* title, const PlannedFleet& planned) {
    absl::StrAppendFormat(&text, "  %-12s %d x %s, %.2f%% of the worst model's feasible requests on time\n", title,
                          planned.gpus.size(), request.gpu, 100 * planned.on_time_share);
    for (const PlannedGpu& gpu : planned.gpus) {
      absl::StrAppendFormat(&text, "    %-8s %s\n", gpu.id, absl::StrJoin(gpu.models, ", "));
    }
  };
  fleet("dedicated", plan.dedicated);
  fleet("colocated", plan.colocated);
  absl::StrAppendFormat(&text, "  %-12s %.0f%% of the GPUs\n", "saving",
                        100.0 - 100.0 * static_cast<double>(plan.colocated.gpus.size()) /
                                    static_cast<double>(std::max<size_t>(1, plan.dedicated.gpus.size())));
  return text;
}

}  // namespace penstock
