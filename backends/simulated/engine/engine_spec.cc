#include "backends/simulated/engine/engine_spec.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/values/capacity.h"
#include "config/values/gpu_slice.h"

namespace penstock::simulated {
namespace {

constexpr char kDefaultGpu[] = "a100-80";

// The first listed GPU sets the pace.
std::optional<GpuKind> KindOf(const Config& config, const ReplicaConfig& replica) {
  if (replica.gpus.empty()) return *FindGpuKind(kDefaultGpu);
  const GpuConfig* gpu = FindGpu(config, replica.gpus.front());
  if (gpu == nullptr) return std::nullopt;
  return SpeedOf(*gpu);
}

EngineLimits LimitsOf(const ReplicaConfig& replica) {
  const SimulatedConfig& simulated = *replica.simulated;
  EngineLimits limits;
  limits.block = replica.block.value_or(Tokens(16));
  limits.max_sequences = simulated.max_seqs;
  limits.batch_budget = simulated.max_batched_tokens;
  limits.tokens_per_step = simulated.tokens_per_step;
  if (simulated.overflow_error) {
    limits.overflow = Overflow::kError;
    limits.block = Tokens(1);
    limits.prefix_cache = false;
  }
  return limits;
}

StepCoefficients PriorOf(const Config& config, const ReplicaConfig& replica, const GpuKind& gpu,
                         const ModelShape& shape) {
  StepPriorOptions options;
  options.tensor_parallel = std::max(1, replica.tensor_parallel);
  if (const ModelConfig* model = FindModel(config, absl::string_view(replica.model))) {
    options.bytes_per_parameter = model->bytes_per_parameter;
    options.cache_dtype = model->cache_dtype;
  }
  return StepPrior(gpu, shape, options);
}

// Seconds per token, as the router expects them.
double TransferOf(const Config& config, const ReplicaConfig& replica, Tokens block) {
  constexpr double kBytesPerGB = 1e9;
  constexpr double kPrompt = 4096;
  const auto footprint = ReplicaFootprint(config, replica, replica.model, block);
  return footprint ? footprint->Expected(kPrompt) / kPrompt / (replica.transfer * kBytesPerGB) : 0;
}

void SetHostCache(const Config& config, const ReplicaConfig& replica, EngineLimits& limits) {
  const std::optional<HostCacheSize> host = HostCacheOf(config, replica, replica.model, limits.block);
  if (!host) return;
  limits.host_tokens = host->tokens;
  // The time scale shortens all that the engine does.
  limits.host_seconds = host->seconds * replica.simulated->time_scale;
}

}  // namespace

bool EngineSpec::Serves(const std::string& name) const {
  return name == model || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

absl::StatusOr<EngineSpec> SpecOf(const Config& config, const ReplicaConfig& replica) {
  const auto missing = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("replica ", replica.id, ": ", what));
  };
  if (!replica.simulated) return missing("it is not simulated");
  if (replica.model.empty()) return missing("it needs a model: the shape gives the times of steps");
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  if (shape == nullptr) return missing(absl::StrCat("the shape of model ", replica.model, " is unknown"));
  const std::optional<GpuKind> gpu = KindOf(config, replica);
  if (!gpu) return missing("its GPU is unknown");

  EngineSpec spec;
  spec.id = replica.id;
  spec.model = replica.model;
  spec.gpu = gpu->name;
  spec.limits = LimitsOf(replica);
  const auto tokens = SimulatedKvTokens(config, replica, spec.limits.block);
  if (!tokens || *tokens <= spec.limits.block) return missing("no memory is left for its KV cache");
  spec.limits.kv_tokens = *tokens;
  const GpuConfig* shared = replica.gpus.empty() ? nullptr : FindGpu(config, replica.gpus.front());
  if (shared != nullptr && shared->elastic_kv) {
    spec.elastic_gpu = shared->id;
    spec.elastic_kv = *shared->elastic_kv;
    spec.limits.prefix_cache = false;
    spec.limits.block_bytes = Bytes(spec.elastic_kv.value() / (tokens->value() / spec.limits.block.value()));
  }
  SetHostCache(config, replica, spec.limits);
  spec.limits.max_context = SimulatedContext(config, replica, *tokens);
  if (const ModelConfig* model = FindModel(config, absl::string_view(replica.model))) {
    spec.model = model->name;
    spec.aliases = model->aliases;
  }
  for (const AdapterConfig& adapter : config.adapters) {
    if (spec.Serves(adapter.model) && !spec.LlamaDialect()) spec.adapters.push_back(adapter);
  }
  spec.step = PriorOf(config, replica, *gpu, *shape);
  if (replica.simulated->linear_prefill) spec.step = spec.step.Linear();
  spec.slowdown = replica.simulated->slowdown;
  spec.noise = replica.simulated->noise;
  spec.doze = replica.simulated->sleep;
  spec.host_time = replica.simulated->host_time;
  spec.time_scale = replica.simulated->time_scale;
  spec.seed = replica.simulated->seed;
  spec.natural = replica.simulated->natural;
  spec.hands_over = replica.role != ReplicaRole::kBoth;
  spec.transfer = TransferOf(config, replica, spec.limits.block);
  return spec;
}

}  // namespace penstock::simulated
