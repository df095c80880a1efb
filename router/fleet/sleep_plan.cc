#include "router/fleet/sleep_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

// Bytes per second at which a wake reads weights from disk, until the router has measured one.
constexpr double kReadRate = 2e9;

// A simulated engine inside the router sleeps as vLLM does.
const SleepVerbs& VerbsOf(const KnownReplica& replica) {
  return EngineOf(replica.discovery ? replica.discovery->kind : EngineKind::kVllm).sleep_verbs;
}

std::string WithoutVerbs(const EngineDeclaration& engine) {
  return absl::StrCat("engines of the kind ", engine.name, " have no request for it; give by: command, start and stop");
}

}  // namespace

std::vector<std::string> SleepKindWarnings(const Config& config) {
  std::vector<std::string> warnings;
  for (const ReplicaConfig& replica : config.replicas) {
    const EngineDeclaration* engine = EngineByName(replica.engine);
    const bool alone = replica.sleep && replica.sleep->by != SleepBy::kCommand && !replica.simulated;
    if (!alone || engine == nullptr || engine->sleep_verbs.sleep != nullptr) continue;
    warnings.push_back(absl::StrCat("replicas: ", replica.id, ": it can never sleep: ", WithoutVerbs(*engine)));
  }
  return warnings;
}

std::string SleepFault(const KnownReplica& replica) {
  const ReplicaConfig& config = replica.config;
  if (!config.sleep || config.sleep->by == SleepBy::kCommand) return "";
  if (!replica.discovery) return config.simulated ? "" : "its engine is not known yet";
  const EngineDeclaration& engine = EngineOf(replica.discovery->kind);
  const SleepVerbs& verbs = engine.sleep_verbs;
  if (verbs.sleep == nullptr) return WithoutVerbs(engine);
  if (replica.discovery->ranks.size() > 1) return "its engine has ranks, which would have to sleep together";
  if (verbs.has != nullptr && !verbs.has(*replica.discovery)) {
    return absl::StrCat("its engine was started without the requests for it; ", verbs.advice);
  }
  if (verbs.per_model && config.model.empty()) {
    return absl::StrCat("the replica needs the key model: ", engine.name, " loads and unloads each of its models");
  }
  return "";
}

std::optional<SleepSpec> SleepOf(const Config& all, const KnownReplica& replica) {
  if (!replica.config.sleep || !SleepFault(replica).empty()) return std::nullopt;
  const ReplicaSleepConfig& config = *replica.config.sleep;
  SleepSpec spec{config.after, config.wake};
  const SleepVerbs& verbs = VerbsOf(replica);
  const bool keeps = verbs.on_host && config.level.value_or(1) == 1;
  const bool reads_again = replica.discovery && !replica.discovery->weights_path.empty();
  if (config.by == SleepBy::kCommand || !keeps || reads_again || !IsHostBounded(all, replica.config)) return spec;
  spec.weights = HostMemoryPerGpu(all, replica.config, BaseModel(all, replica));
  spec.may_drop = verbs.levels && !config.level;
  const double bytes = spec.weights.AsDouble() * static_cast<double>(replica.config.gpus.size());
  spec.wake_dropped = config.wake + Duration::Seconds(bytes / kReadRate);
  return spec;
}

Bytes ResidentOf(const Config& all, const KnownReplica& replica, const MemoryPlan& plan) {
  Bytes kv(0);
  for (const PoolPlan& pool : plan.pools) {
    // An elastic pool has the name of its GPU, and belongs to no replica.
    const GpuConfig* gpu = FindGpu(all, pool.name);
    const bool elastic = gpu != nullptr && gpu->elastic_kv.has_value();
    if (pool.in_bytes && !elastic && !(pool.limited && plan.pools.size() > 1))
      kv = std::max(kv, Bytes(pool.capacity.value()));
  }
  return ResidentPerGpu(all, replica.config, BaseModel(all, replica), kv).total();
}

SleepTarget SleepTargetOf(const KnownReplica& replica, const std::optional<SleepSpec>& spec, std::string model) {
  SleepTarget target;
  target.model = std::move(model);
  const int unsaid = spec && spec->may_drop ? 2 : 1;
  if (replica.config.sleep) target.level = replica.config.sleep->level.value_or(unsaid);
  if (replica.discovery) target.weights = replica.discovery->weights_path;
  return target;
}

void FitModels(const Config& all, const ReplicaConfig& replica, Discovery& found) {
  SpellAsConfigured(all, replica, found);
  if (!replica.sleep || replica.model.empty() || !EngineOf(found.kind).sleep_verbs.per_model) return;
  const std::string own = CanonicalName(all, replica.model);
  std::erase_if(found.models, [&](const ServedModel& model) { return CanonicalName(all, model.name) != own; });
}

}  // namespace penstock
