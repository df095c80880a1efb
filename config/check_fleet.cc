#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/addresses.h"
#include "config/capacity.h"
#include "config/draft.h"
#include "config/key_digest.h"
#include "config/units_text.h"

namespace penstock {
namespace {

// Remembers who used a name first.
class Names {
 public:
  // The path of the first user, or nothing when `name` is new.
  std::optional<std::string> Claim(const std::string& name, const std::string& owner) {
    const auto [entry, added] = owners_.try_emplace(name, owner);
    if (added) return std::nullopt;
    return entry->second;
  }

 private:
  std::map<std::string, std::string> owners_;
};

std::string InGB(double bytes) { return absl::StrCat(FormatNumber(std::round(bytes / 1e7) / 100), "GB"); }

std::vector<absl::string_view> GpuIds(const Config& config) {
  std::vector<absl::string_view> ids;
  for (const GpuConfig& gpu : config.gpus) ids.push_back(gpu.id);
  return ids;
}

std::vector<absl::string_view> ModelNames(const Config& config) {
  std::vector<absl::string_view> names;
  for (const ModelConfig& model : config.models) {
    names.push_back(model.name);
    names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  }
  return names;
}

void CheckGpuIds(const Draft& draft) {
  Names ids;
  for (size_t i = 0; i < draft.gpus.size(); ++i) {
    const std::string& id = draft.config.gpus[i].id;
    if (id.empty()) continue;
    if (const auto first = ids.Claim(id, absl::StrCat("gpus[", i, "]"))) {
      draft.gpus[i].Fail("id", absl::StrCat("duplicate id \"", id, "\", first used by ", *first));
    }
  }
}

void CheckModelNames(const Draft& draft) {
  Names names;
  for (size_t i = 0; i < draft.models.size(); ++i) {
    const ModelConfig& model = draft.config.models[i];
    const std::string owner = absl::StrCat("models[", i, "]");
    if (!model.name.empty()) {
      if (const auto first = names.Claim(model.name, owner)) {
        draft.models[i].Fail("name", absl::StrCat("\"", model.name, "\" is already a name or alias of ", *first));
      }
    }
    for (size_t j = 0; j < model.aliases.size(); ++j) {
      if (const auto first = names.Claim(model.aliases[j], owner)) {
        draft.models[i].FailAt("aliases", j,
                               absl::StrCat("\"", model.aliases[j], "\" is already a name or alias of ", *first));
      }
    }
  }
}

void CheckReplicaNames(const Draft& draft) {
  Names ids;
  Names urls;
  for (size_t i = 0; i < draft.replicas.size(); ++i) {
    const ReplicaConfig& replica = draft.config.replicas[i];
    const MapReader& reader = draft.replicas[i];
    const std::string owner = absl::StrCat("replicas[", i, "]");
    const absl::StatusOr<EngineUrl> url = ParseEngineUrl(replica.url);
    bool same_url = false;
    if (url.ok()) {
      if (const auto first = urls.Claim(absl::StrCat(url->Name(), url->base_path), owner)) {
        same_url = true;
        reader.Fail("url", absl::StrCat("duplicate url, already the engine of ", *first));
      }
    }
    if (replica.id.empty()) {
      if (!reader.Has("url") && reader.Has("simulated")) reader.Fail("id", "is required without a url");
    } else if (const auto first = ids.Claim(replica.id, owner); first && !(same_url && !reader.Has("id"))) {
      reader.Fail(reader.Has("id") ? "id" : "url",
                  absl::StrCat("duplicate id \"", replica.id, "\", first used by ", *first));
    }
  }
}

void CheckGpusOf(const Config& config, const ReplicaConfig& replica, const MapReader& reader) {
  std::set<std::string> seen;
  for (size_t i = 0; i < replica.gpus.size(); ++i) {
    const std::string& id = replica.gpus[i];
    if (!FindGpu(config, id)) {
      reader.FailAt("gpus", i,
                    absl::StrCat("unknown GPU \"", id, "\"", Suggestion(id, GpuIds(config)),
                                 ", known: ", config.gpus.empty() ? "none" : absl::StrJoin(GpuIds(config), " ")));
    }
    if (!seen.insert(id).second) reader.FailAt("gpus", i, absl::StrCat("lists \"", id, "\" twice"));
  }
  const int gpus = static_cast<int>(replica.gpus.size());
  if (gpus > 0 && gpus % replica.tensor_parallel != 0) {
    reader.Fail("tensor_parallel",
                absl::StrCat(replica.tensor_parallel, " does not divide the ", gpus, " GPUs listed"));
  }
}

void CheckModelOf(const Config& config, const ReplicaConfig& replica, const MapReader& reader) {
  if (replica.model.empty()) return;
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  if (!config.models.empty() && !FindModel(config, replica.model) && !shape) {
    const std::vector<absl::string_view> names = ModelNames(config);
    reader.Fail("model",
                absl::StrCat("unknown model \"", replica.model, "\"", Suggestion(replica.model, names),
                             "; it is neither a built-in shape nor one of models: ", absl::StrJoin(names, " ")));
    return;
  }
  if (!shape) {
    if (replica.kv_memory) {
      reader.Fail("kv_memory", absl::StrCat("needs the shape of model \"", replica.model,
                                            "\"; describe it under models or give kv_tokens"));
    }
    return;
  }
  FootprintOptions options;
  options.tensor_parallel = replica.tensor_parallel;
  options.pipeline_parallel = PipelineParallel(replica);
  const absl::StatusOr<Footprint> footprint = FootprintOf(*shape, options);
  if (!footprint.ok()) reader.Fail("tensor_parallel", footprint.status().message());
}

void CheckSimulated(const Config& config, const ReplicaConfig& replica, const MapReader& reader) {
  if (!replica.simulated) return;
  if (replica.gpus.empty()) reader.Fail("gpus", "is required for a simulated replica: its GPU gives the step times");
  if (replica.model.empty()) {
    reader.Fail("model", "is required for a simulated replica");
    return;
  }
  if (!ShapeOfModel(config, replica.model)) {
    std::vector<absl::string_view> names = ModelNames(config);
    for (const ModelShape& shape : BuiltinShapes()) names.push_back(shape.name);
    reader.Fail("model", absl::StrCat("a simulated replica needs a model of known shape, \"", replica.model,
                                      "\" has none", Suggestion(replica.model, names)));
    return;
  }
  const bool gpus_known = std::all_of(replica.gpus.begin(), replica.gpus.end(),
                                      [&](const std::string& id) { return FindGpu(config, id) != nullptr; });
  if (!gpus_known || replica.gpus.empty()) return;
  const auto tokens = SimulatedKvTokens(config, replica);
  if (!tokens || tokens->value() < 16) {
    reader.Fail(
        replica.kv_memory ? "kv_memory" : "kv_tokens",
        "leaves no room for one block of 16 tokens beside the weights; give the GPU more memory or fewer replicas");
  }
}

// The only hard memory bound: weights and KV over a GPU's memory.
void CheckMemory(const Draft& draft) {
  const Config& config = draft.config;
  for (size_t i = 0; i < config.gpus.size(); ++i) {
    const GpuConfig& gpu = config.gpus[i];
    double weights = 0;
    double kv = gpu.elastic_kv ? gpu.elastic_kv->AsDouble() : 0;
    std::vector<std::string> names;
    for (const ReplicaConfig& replica : config.replicas) {
      if (std::find(replica.gpus.begin(), replica.gpus.end(), gpu.id) == replica.gpus.end()) continue;
      names.push_back(replica.id);
      weights += WeightsPerGpu(config, replica, replica.model).value_or(Bytes(0)).AsDouble();
      if (!gpu.elastic_kv) kv += ConfiguredKvPerGpu(config, replica, replica.model).value_or(Bytes(0)).AsDouble();
    }
    const double memory = gpu.kind.memory.AsDouble();
    if (memory <= 0 || weights + kv <= memory) continue;
    draft.gpus[i].Fail(draft.gpus[i].Has("memory") ? "memory" : "kind",
                       absl::StrCat("weights ", InGB(weights), " and KV ", InGB(kv), " of ", absl::StrJoin(names, ", "),
                                    " take ", InGB(weights + kv), ", above the GPU's ", InGB(memory)));
  }
}

void CheckTenants(const Draft& draft) {
  const Config& config = draft.config;
  Names names;
  Names keys;
  std::vector<absl::string_view> classes;
  for (const ClassConfig& each : config.classes) classes.push_back(each.name);
  for (size_t i = 0; i < draft.tenants.size(); ++i) {
    const TenantConfig& tenant = config.tenants[i];
    const MapReader& reader = draft.tenants[i];
    const std::string owner = absl::StrCat("tenants[", i, "]");
    if (!tenant.name.empty()) {
      if (const auto first = names.Claim(tenant.name, owner)) {
        reader.Fail("name", absl::StrCat("duplicate name \"", tenant.name, "\", first used by ", *first));
      }
    }
    const std::string hidden = KeyDigest(kHiddenSecret);
    for (size_t j = 0; j < tenant.keys.size(); ++j) {
      // The printed configuration hides every key behind the same stars.
      if (tenant.keys[j] == hidden) continue;
      if (const auto first = keys.Claim(tenant.keys[j], owner)) {
        reader.FailAt("keys", j, absl::StrCat("the same key is already one of ", *first));
      }
    }
    if (tenant.max_class.empty()) continue;
    if (std::find(classes.begin(), classes.end(), absl::string_view(tenant.max_class)) == classes.end()) {
      reader.Fail("max_class",
                  absl::StrCat("unknown class \"", tenant.max_class, "\"", Suggestion(tenant.max_class, classes),
                               ", known: ", absl::StrJoin(classes, " ")));
    }
  }
}

void CheckTrace(const Draft& draft) {
  const Config& config = draft.config;
  std::vector<absl::string_view> known = ModelNames(config);
  for (const ReplicaConfig& replica : config.replicas) {
    if (replica.model.empty()) return;  // Its name comes from the engine: anything may be right.
    known.push_back(replica.model);
  }
  const auto trace = draft.root.ReadMap("trace", SectionId::kTrace);
  const auto models = trace ? trace->ReadMap("models", SectionId::kTraceModels) : std::nullopt;
  if (!models) return;
  for (const auto& [name, model] : config.trace.models) {
    if (std::find(known.begin(), known.end(), absl::string_view(model)) != known.end()) continue;
    models->Fail(name, absl::StrCat("unknown model \"", model, "\"", Suggestion(model, known)));
  }
}

}  // namespace

void CheckFleet(const Draft& draft, const LoadOptions& options) {
  const Config& config = draft.config;
  CheckGpuIds(draft);
  CheckModelNames(draft);
  CheckReplicaNames(draft);
  for (size_t i = 0; i < draft.replicas.size(); ++i) {
    CheckGpusOf(config, config.replicas[i], draft.replicas[i]);
    CheckModelOf(config, config.replicas[i], draft.replicas[i]);
    CheckSimulated(config, config.replicas[i], draft.replicas[i]);
    if (config.replicas[i].kv_tokens && config.replicas[i].kv_memory) {
      draft.replicas[i].Fail("kv_memory", "give kv_memory or kv_tokens, not both");
    }
  }
  CheckMemory(draft);
  CheckTenants(draft);
  CheckTrace(draft);
  if (options.need_replicas && config.replicas.empty()) {
    draft.root.Fail("replicas", "at least one replica is required");
  }
}

}  // namespace penstock
