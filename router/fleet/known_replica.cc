#include "router/fleet/known_replica.h"

#include <algorithm>
#include <limits>

#include "absl/strings/strip.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "config/values/capacity.h"
#include "config/values/gpu_slice.h"

namespace penstock {
namespace {

// The recognised engine, else the configured one, else the generic one.
const EngineDeclaration& EngineOf(const KnownReplica& replica) {
  if (replica.discovery) return EngineOf(replica.discovery->kind);
  const EngineDeclaration* configured = EngineByName(replica.config.engine);
  return configured != nullptr ? *configured : EngineOf(EngineKind::kOpenAi);
}

// The smaller of two token counts of which zero means unknown.
Tokens SmallerKnown(Tokens a, Tokens b) {
  if (a.value() == 0) return b;
  if (b.value() == 0) return a;
  return std::min(a, b);
}

bool OverflowFatal(const KnownReplica& replica) {
  return (replica.discovery && replica.discovery->overflow_fatal) ||
         (replica.config.simulated && replica.config.simulated->overflow_error);
}

// Engines that serve a prompt's head from the blocks of an earlier one.
bool KeepsPrefixes(const KnownReplica& replica) {
  if (replica.config.simulated) return !replica.config.simulated->overflow_error;
  return EngineOf(replica).defaults.keeps_prefixes;
}

Tokens BlockOf(const KnownReplica& replica) {
  if (replica.config.block) return *replica.config.block;
  if (replica.config.simulated && replica.config.simulated->overflow_error) return Tokens(1);
  if (replica.discovery && replica.discovery->block.value() > 0) return replica.discovery->block;
  return EngineOf(replica).defaults.block;
}

// True: an engine's name means the base model. Null: no configuration names that.
bool Means(const ModelConfig* model, absl::string_view base, absl::string_view name) {
  if (model == nullptr || name == base) return name == base;
  return std::find(model->aliases.begin(), model->aliases.end(), std::string(name)) != model->aliases.end();
}

Tokens ContextOf(const Config& all, const KnownReplica& replica, Tokens kv_tokens) {
  Tokens context = replica.config.max_context.value_or(Tokens(0));
  const std::string base = BaseModel(all, replica);
  bool reported = false;
  if (replica.discovery) {
    const ModelConfig* model = FindModel(all, base);
    for (const ServedModel& served : replica.discovery->models) {
      if (replica.discovery->models.size() > 1 && !Means(model, base, served.name)) continue;
      context = SmallerKnown(context, served.max_context);
      reported = reported || served.max_context.value() > 0;
    }
    context = SmallerKnown(context, replica.discovery->sequence_limit);
    reported = reported || replica.discovery->sequence_limit.value() > 0;
  }
  if (reported) return context;
  if (replica.config.simulated) return SmallerKnown(context, SimulatedContext(all, replica.config, kv_tokens));
  const ModelShape* shape = ShapeOfModel(all, base);
  return shape ? SmallerKnown(context, shape->max_context) : context;
}

}  // namespace

std::string CanonicalName(const Config& all, absl::string_view name) {
  const ModelConfig* model = FindModel(all, name);
  return model ? model->name : std::string(name);
}

void SpellAsConfigured(const Config& all, const ReplicaConfig& replica, Discovery& found) {
  if (!EngineOf(found.kind).capabilities.latest_tag) return;
  const auto configured = [&](absl::string_view name) {
    return replica.model == name || FindModel(all, name) != nullptr;
  };
  for (ServedModel& model : found.models) {
    absl::string_view plain = model.name;
    if (!configured(model.name) && absl::ConsumeSuffix(&plain, kLatestTag) && configured(plain)) {
      model.name = std::string(plain);
    }
  }
}

std::string BaseModel(const Config& all, const KnownReplica& replica) {
  if (!replica.config.model.empty()) return CanonicalName(all, replica.config.model);
  if (!replica.discovery || replica.discovery->models.empty()) return "";
  return CanonicalName(all, replica.discovery->models.front().name);
}

MemoryPlan MemoryOf(const Config& all, const KnownReplica& replica) {
  const ReplicaConfig& config = replica.config;
  const Tokens block = BlockOf(replica);
  const std::string base = BaseModel(all, replica);
  const Tokens simulated_tokens =
      config.simulated ? SimulatedKvTokens(all, config, block).value_or(Tokens(0)) : Tokens(0);
  const Tokens context = ContextOf(all, replica, simulated_tokens);
  const std::optional<Footprint> shaped = ReplicaFootprint(all, config, base, block);
  const Footprint footprint = shaped.value_or(Footprint::InTokens(block));

  Tokens tokens = config.kv_tokens.value_or(Tokens(0));
  if (tokens.value() == 0 && replica.discovery) tokens = replica.discovery->kv_tokens;
  if (tokens.value() == 0) tokens = simulated_tokens;
  std::optional<Amount> capacity;
  if (shaped && config.kv_memory) {
    capacity = WholeBlocks(footprint, Amount(config.kv_memory->value()));
  } else if (tokens.value() > 0) {
    capacity = shaped ? AmountOfTokens(footprint, tokens, context) : Amount(tokens.value());
  }

  MemoryPlan plan{context, Tokens(0), {}, footprint, OverflowFatal(replica), {}};
  // A replica without listed GPUs has one pool of its own.
  const size_t shares = std::max<size_t>(1, config.gpus.size());
  for (size_t i = 0; i < shares; ++i) {
    const GpuConfig* gpu = config.gpus.empty() ? nullptr : FindGpu(all, config.gpus[i]);
    if (gpu && gpu->elastic_kv && shaped) {
      plan.pools.push_back({gpu->id, Amount(gpu->elastic_kv->value()), true});
      if (!config.elastic) continue;
      // Until its segment says more, the limit is the configured cache, else all of the memory.
      const Amount limit(ConfiguredKvPerGpu(all, config, base, block).value_or(*gpu->elastic_kv).value());
      plan.pools.push_back({shares == 1 ? config.id : config.id + "@" + gpu->id, limit, true, true});
    } else if (capacity) {
      if (KeepsPrefixes(replica)) plan.prefix_cache = tokens;
      const std::string name = shares == 1 ? config.id : config.id + "@" + config.gpus[i];
      plan.pools.push_back({name, *capacity, shaped.has_value(), config.elastic && shaped});
    }
  }
  const std::optional<HostCacheSize> host = HostCacheOf(all, config, base, block);
  if (host && plan.prefix_cache > Tokens(0)) plan.host_cache = {host->tokens, host->seconds};
  return plan;
}

Tokens LongestPrompt(const MemoryPlan& plan) {
  Tokens longest(std::numeric_limits<int64_t>::max());
  if (plan.max_context > Tokens(0)) longest = plan.max_context - Tokens(1);
  for (const PoolPlan& pool : plan.pools) {
    if (!pool.limited) longest = std::min(longest, plan.footprint.TokensWithin(pool.capacity));
  }
  return longest;
}

void SetPace(const Config& all, const KnownReplica& replica, ReplicaSpec& spec) {
  const ReplicaConfig& config = replica.config;
  const Discovery* found = replica.discovery ? &*replica.discovery : nullptr;
  const EngineDeclaration& engine = EngineOf(replica);
  spec.batch_budget = engine.defaults.batch_budget;
  if (found && found->batch_budget.value() > 0) spec.batch_budget = found->batch_budget;
  if (config.simulated) spec.batch_budget = config.simulated->max_batched_tokens;
  if (config.max_batched_tokens) spec.batch_budget = *config.max_batched_tokens;

  spec.max_sequences = engine.defaults.max_sequences;
  // The default is that of one process.
  if (found && found->process_per_model) spec.max_sequences *= std::max(1, static_cast<int>(found->models.size()));
  if (found && found->max_sequences > 0) spec.max_sequences = found->max_sequences;
  if (found) spec.abort_hold = engine.capabilities.abort_memory_hold;
  if (config.simulated) spec.max_sequences = config.simulated->max_seqs;
  if (config.max_seqs) spec.max_sequences = *config.max_seqs;

  const std::string base = BaseModel(all, replica);
  const ModelShape* shape = ShapeOfModel(all, base);
  const GpuConfig* gpu = config.gpus.empty() ? nullptr : FindGpu(all, config.gpus.front());
  spec.prior_known = shape != nullptr && gpu != nullptr;
  spec.prior = StepCoefficients{};
  if (!spec.prior_known) return;
  StepPriorOptions options;
  options.tensor_parallel = config.tensor_parallel;
  if (const ModelConfig* model = FindModel(all, base)) {
    options.bytes_per_parameter = model->bytes_per_parameter;
    options.cache_dtype = model->cache_dtype;
  }
  spec.prior = StepPrior(SpeedOf(*gpu), *shape, options);
  if (!config.simulated) return;
  if (config.simulated->linear_prefill) spec.prior = spec.prior.Linear();
  spec.prior = spec.prior.Scaled(1 / config.simulated->time_scale);
}

std::string NameOfModel(const Config& config, const ReplicaConfig& replica, const Discovery& found) {
  std::vector<absl::string_view> bases;
  for (const ServedModel& model : found.models) {
    if (CanonicalName(config, model.name) == CanonicalName(config, replica.model)) return model.name;
    if (model.parent.empty()) bases.push_back(model.name);
  }
  if (bases.size() != 1) return "";
  const ModelShape* own = ShapeOfModel(config, replica.model);
  const ModelShape* served = ShapeOfModel(config, std::string(bases.front()));
  const bool differ = own != nullptr && served != nullptr && *own != *served;
  return differ ? "" : std::string(bases.front());
}

}  // namespace penstock
