#include "app/simulate/planned_models.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

// Share of a GPU's memory that engines may use, and the bytes that each engine takes beside weights and cache.
// Source: docs/step-time.md.
constexpr double kUsable = 0.92;
constexpr double kEngineBytes = 4e9;
// Tokens. A replica with less cache than this is not worth planning: one long request would fill it.
constexpr int64_t kLeastCacheTokens = 8192;
// The cache of a replica that sleeps at times. A small one lets more models be awake together: with 8 GB instead, the
// market of bench/results/market.md wakes models two thirds more often.
constexpr double kSleeperBytes = 4e9;
constexpr int kMostRanks = 8;  // GPUs of one machine.
// The work of a prompt token against that of an output token: prefill computes tokens side by side.
constexpr double kPromptWork = 0.1;

absl::StatusOr<PlannedModel> PlannedModelLike(const Config& config, const ReplicaConfig& replica, const GpuKind& kind) {
  const ModelConfig* named = FindModel(config, replica.model);
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  if (shape == nullptr || shape->parameters <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("the shape of model \"", replica.model, "\" is unknown"));
  }
  PlannedModel model;
  model.name = named == nullptr ? replica.model : named->name;
  model.like = replica;
  model.weights = shape->Weights(named ? named->bytes_per_parameter : 2).AsDouble();
  ReplicaConfig alone = replica;
  alone.gpus = {};
  alone.tensor_parallel = 1;
  model.per_token = ReplicaFootprint(config, alone, replica.model, Tokens(16))->full_per_token;
  const GpuRoom room(kind);
  while (model.ranks <= kMostRanks && room.NeededBy(model, model.ranks) > room.Usable(model.ranks)) model.ranks *= 2;
  if (model.ranks > kMostRanks) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s does not fit on %d GPUs of kind %s", model.name, kMostRanks, kind.name));
  }
  return model;
}

}  // namespace

double GpuRoom::Usable(int ranks) const { return kUsable * kind_.memory.AsDouble() * ranks; }

double GpuRoom::NeededBy(const PlannedModel& model, int ranks) const {
  return model.weights + kEngineBytes * ranks + static_cast<double>(kLeastCacheTokens) * model.per_token;
}

double GpuRoom::SleeperCache(const PlannedModel& model) const {
  return std::max(kSleeperBytes, static_cast<double>(kLeastCacheTokens) * model.per_token);
}

double GpuRoom::SleeperNeeds(const PlannedModel& model) const {
  return model.weights + kEngineBytes + SleeperCache(model);
}

double GpuRoom::Elastic(double weights, size_t engines) const {
  return Usable(1) - weights - kEngineBytes * static_cast<double>(engines);
}

size_t PlannedModelOf(const Config& config, const std::vector<PlannedModel>& models, const std::string& name) {
  const auto mapped = config.trace.models.find(name);
  std::string wanted = mapped == config.trace.models.end() ? name : mapped->second;
  if (const ModelConfig* model = FindModel(config, wanted)) wanted = model->name;
  if (wanted.empty() && models.size() == 1) return 0;
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const PlannedModel& model) { return model.name == wanted; });
  return static_cast<size_t>(found - models.begin());
}

absl::StatusOr<std::vector<PlannedModel>> PlannedModelsOf(const Config& config, const bench::Trace& trace,
                                                          const GpuKind& kind) {
  std::vector<PlannedModel> models;
  for (const ReplicaConfig& replica : config.replicas) {
    const ModelConfig* named = FindModel(config, replica.model);
    const std::string& name = named == nullptr ? replica.model : named->name;
    const bool known =
        std::any_of(models.begin(), models.end(), [&](const PlannedModel& model) { return model.name == name; });
    if (known) continue;
    absl::StatusOr<PlannedModel> model = PlannedModelLike(config, replica, kind);
    if (!model.ok()) return model.status();
    models.push_back(*std::move(model));
  }
  for (const bench::TraceRequest& request : trace.requests) {
    const size_t model = PlannedModelOf(config, models, request.model);
    if (model == models.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(trace.source, ":", request.line, ": no replica serves the model \"", request.model, "\""));
    }
    models[model].work += (request.output.AsDouble() + kPromptWork * request.prompt.AsDouble()) * models[model].weights;
  }
  return models;
}

}  // namespace penstock
