#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/keys/key_names.h"
#include "config/keys/names.h"
#include "config/read/fleet_checks.h"
#include "config/text/findings.h"
#include "config/text/units_text.h"
#include "config/values/capacity.h"

namespace penstock {
namespace {

std::string InGB(double bytes) { return absl::StrCat(FormatNumber(std::round(bytes / 1e7) / 100), "GB"); }

// The only hard memory bound: weights and KV over a GPU's memory.
void CheckMemory(const Draft& draft) {
  const Config& config = draft.config;
  const GpuUsers users = UsersOfGpus(config);
  for (size_t i = 0; i < config.gpus.size(); ++i) {
    const GpuConfig& gpu = config.gpus[i];
    const GpuDemand demand = DemandOn(config, gpu, ReplicasOn(users, gpu.id));
    const double weights = demand.memory.weights.AsDouble();
    const double kv = demand.memory.kv.AsDouble();
    const double memory = gpu.kind.memory.AsDouble();
    if (memory <= 0 || weights + kv <= memory) continue;
    draft.At("gpus", i).Fail(
        draft.At("gpus", i).Has("memory") ? "memory" : "kind",
        absl::StrCat("weights ", InGB(weights), " and KV ", InGB(kv), " of ", absl::StrJoin(demand.replicas, ", "),
                     " take ", InGB(weights + kv), ", above the GPU's ", InGB(memory)));
  }
}

// Every value of a map under `trace` is one of `known`.
void CheckTraceNames(const MapReader& trace, absl::string_view key, absl::string_view noun,
                     const std::map<std::string, std::string>& given, const std::vector<absl::string_view>& known) {
  const auto names = trace.ReadMap(key, kAnyKey);
  if (!names) return;
  const std::set<absl::string_view> all(known.begin(), known.end());
  for (const auto& [name, value] : given) {
    if (all.contains(value)) continue;
    names->Fail(name, absl::StrCat("unknown ", noun, " \"", value, "\"", names->Suggest(value, known)));
  }
}

void CheckTraceModels(const Draft& draft, const MapReader& trace) {
  std::vector<absl::string_view> known = ModelNames(draft.config);
  for (const AdapterConfig& adapter : draft.config.adapters) known.push_back(adapter.name);
  for (const ReplicaConfig& replica : draft.config.replicas) {
    if (replica.model.empty()) return;  // Its name comes from the engine: anything may be right.
    known.push_back(replica.model);
  }
  CheckTraceNames(trace, "models", "model", draft.config.trace.models, known);
}

void CheckTrace(const Draft& draft) {
  const auto trace = draft.root.ReadMap("trace", KeyNames<TraceConfig>());
  if (!trace) return;
  CheckTraceModels(draft, *trace);
  std::vector<absl::string_view> classes;
  classes.reserve(draft.config.classes.size());
  for (const ClassConfig& known : draft.config.classes) classes.push_back(known.name);
  CheckTraceNames(*trace, "classes", "class", draft.config.trace.classes, classes);
  const std::vector<absl::string_view> needs(kStorageNeedNames.begin(), kStorageNeedNames.end());
  CheckTraceNames(*trace, "storage", "need", draft.config.trace.storage, needs);
}

}  // namespace

void CheckFleet(const Draft& draft, bool need_replicas) {
  CheckGpuIds(draft);
  CheckModelNames(draft);
  CheckReplicaNames(draft);
  CheckAdapters(draft);
  for (size_t i = 0; i < draft.config.replicas.size(); ++i) {
    CheckReplica(draft.config, draft.config.replicas[i], draft.At("replicas", i));
  }
  CheckMemory(draft);
  CheckModelClasses(draft);
  CheckTenants(draft);
  CheckRoutes(draft);
  CheckNodes(draft);
  CheckTrace(draft);
  if (need_replicas && draft.config.replicas.empty()) draft.root.Fail("replicas", "at least one replica is required");
}

}  // namespace penstock
