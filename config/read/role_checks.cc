// The roles of replicas that serve a model in pairs.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/read/fleet_checks.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

std::string ModelOf(const Config& config, const ReplicaConfig& replica) {
  const ModelConfig* model = FindModel(config, absl::string_view(replica.model));
  return model == nullptr ? replica.model : model->name;
}

const ReplicaConfig* FindRole(const Config& config, const std::string& model, ReplicaRole role) {
  const auto found = std::find_if(config.replicas.begin(), config.replicas.end(), [&](const ReplicaConfig& replica) {
    return replica.role == role && ModelOf(config, replica) == model;
  });
  return found == config.replicas.end() ? nullptr : &*found;
}

void CheckPartner(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  const std::string model = ModelOf(config, replica);
  const bool prefill = replica.role == ReplicaRole::kPrefill;
  const ReplicaConfig* partner = FindRole(config, model, prefill ? ReplicaRole::kDecode : ReplicaRole::kPrefill);
  if (partner == nullptr) {
    return map.Fail("role", absl::StrCat("model \"", model, "\" has no replica with role: ",
                                         prefill ? "decode" : "prefill", "; a pair needs both"));
  }
  if (const ReplicaConfig* plain = FindRole(config, model, ReplicaRole::kBoth)) {
    map.Fail("role", absl::StrCat("replica ", plain->id, " serves model \"", model,
                                  "\" without a role; all replicas of a model have one, or none has"));
  }
  if (prefill && replica.block && partner->block && *replica.block != *partner->block) {
    map.Fail("block", absl::StrCat("is ", replica.block->value(), ", and ", partner->block->value(), " at replica ",
                                   partner->id, "; a cache is handed over in equal blocks"));
  }
}

}  // namespace

void CheckRole(const Config& config, const ReplicaConfig& replica, const MapReader& map) {
  if (replica.role == ReplicaRole::kBoth) return;
  if (replica.model.empty()) return map.Fail("model", "is required with a role: pairs are made by model");
  CheckPartner(config, replica, map);
  if (replica.sleep) map.Fail("sleep", "is not possible with a role: a pair needs both of its engines");
  const bool elastic = std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](const std::string& id) {
    const GpuConfig* gpu = FindGpu(config, id);
    return gpu != nullptr && gpu->elastic_kv;
  });
  if (elastic) map.Fail("gpus", "with elastic_kv are not possible with a role");
  if (replica.simulated && replica.simulated->overflow_error) {
    map.Fail("role", "needs an engine that hands caches over; overflow: error simulates llama-server");
  }
  if (replica.simulated && replica.simulated->ranks > 1) map.Fail("role", "is not possible with ranks");
  if (replica.engine != "auto" && replica.engine != "vllm") {
    map.Fail("engine", absl::StrCat("is ", replica.engine, "; only vllm has a role"));
  }
}

}  // namespace penstock
