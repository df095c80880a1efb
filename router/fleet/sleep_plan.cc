#include "router/fleet/sleep_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "config/values/capacity.h"

namespace penstock {

std::string SleepFault(const KnownReplica& replica) {
  const ReplicaConfig& config = replica.config;
  if (!config.sleep || config.sleep->by == SleepBy::kCommand) return "";
  if (!replica.discovery) return config.simulated ? "" : "its engine is not known yet";
  const EngineDeclaration& engine = EngineOf(replica.discovery->kind);
  const SleepVerbs& verbs = engine.sleep_verbs;
  if (verbs.sleep == nullptr) {
    return absl::StrCat("engines of the kind ", engine.name,
                        " have no request for it; give by: command, start and stop");
  }
  if (verbs.has != nullptr && !verbs.has(*replica.discovery)) {
    return absl::StrCat("its engine was started without the requests for it; ", verbs.advice);
  }
  if (verbs.per_model && config.model.empty()) {
    return absl::StrCat("the replica needs the key model: ", engine.name, " loads and unloads each of its models");
  }
  return "";
}

std::optional<SleepSpec> SleepOf(const KnownReplica& replica) {
  if (!replica.config.sleep || !SleepFault(replica).empty()) return std::nullopt;
  return SleepSpec{replica.config.sleep->after, replica.config.sleep->wake};
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

SleepTarget SleepTargetOf(const KnownReplica& replica, std::string model) {
  SleepTarget target;
  target.model = std::move(model);
  if (replica.config.sleep) target.level = replica.config.sleep->level.value_or(1);
  if (replica.discovery) target.weights = replica.discovery->weights_path;
  return target;
}

void KeepOwnModel(const Config& all, const ReplicaConfig& replica, Discovery& found) {
  if (!replica.sleep || replica.model.empty() || !EngineOf(found.kind).sleep_verbs.per_model) return;
  const std::string own = CanonicalName(all, replica.model);
  std::erase_if(found.models, [&](const ServedModel& model) { return CanonicalName(all, model.name) != own; });
}

}  // namespace penstock
