#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/header_names.h"
#include "config/class_warnings.h"
#include "config/clear_text_warnings.h"
#include "config/config.h"
#include "config/host_memory_warnings.h"
#include "config/sleep_warnings.h"
#include "config/slice_warnings.h"
#include "config/text/address_range.h"
#include "config/text/units_text.h"
#include "config/values/capacity.h"
#include "config/values/key_digest.h"
#include "config/values/policy_pair.h"

namespace penstock {
namespace {

using Users = std::vector<const ReplicaConfig*>;

// Engines keep activations, graphs and the framework beside weights and cache.
constexpr double kReservePerReplica = 2e9;

// The prefix of all IPv4 addresses.
constexpr int kMappedBits = 96;

void WarnReserves(const Config& config, const GpuConfig& gpu, const Users& users, std::vector<std::string>& warnings) {
  const GpuDemand demand = DemandOn(config, gpu, users);
  const double left = gpu.kind.memory.AsDouble() - demand.memory.total().AsDouble();
  if (demand.replicas.empty()) {
    warnings.push_back(absl::StrCat("gpus: ", gpu.id, " is used by no replica"));
  } else if (left < kReservePerReplica * static_cast<double>(demand.replicas.size())) {
    warnings.push_back(absl::StrCat("gpus: ", gpu.id,
                                    ": weights and KV leave less than 2GB per replica for activations "
                                    "and buffers; its engines may not start"));
  }
}

void WarnManaged(const Config& config, const GpuConfig& gpu, const Users& users, std::vector<std::string>& warnings) {
  if (gpu.elastic != ElasticMode::kManage) return;
  const auto engines =
      std::count_if(users.begin(), users.end(), [](const ReplicaConfig* replica) { return replica->elastic; });
  if (engines < 2) {
    warnings.push_back(absl::StrCat("gpus: ", gpu.id,
                                    ": elastic: manage has no effect with fewer than two replicas "
                                    "that have elastic"));
  } else if (!absl::StartsWith(config.policy, "penstock")) {
    warnings.push_back(absl::StrCat("gpus: ", gpu.id, ": elastic: manage has no effect with the policy ",
                                    PolicyPairOf(config.policy).decide, ", which never moves a limit"));
  }
}

// A GPU that works for one replica at a time gives two copies of a model no more steps, and reads the weights twice.
void WarnCopies(const Config& config, const GpuConfig& gpu, const Users& users, std::vector<std::string>& warnings) {
  if (gpu.sharing == GpuSharing::kMps) return;
  std::map<std::string, std::string> first;  // The first replica of each model.
  for (const ReplicaConfig* user : users) {
    const ReplicaConfig& replica = *user;
    // Copies that sleep take turns.
    if (replica.model.empty() || replica.sleep) continue;
    const ModelConfig* model = FindModel(config, replica.model);
    const auto [copy, fresh] = first.try_emplace(model != nullptr ? model->name : replica.model, replica.id);
    if (fresh) continue;
    warnings.push_back(absl::StrCat("gpus: ", gpu.id, ": replicas ", copy->second, " and ", replica.id,
                                    " are copies of one model on a time-sliced GPU: one replica with the memory of "
                                    "both serves more; with MPS, say sharing: mps"));
    return;
  }
}

// The configured KV cache is smaller than a block.
bool HoldsNoBlock(const Config& config, const ReplicaConfig& replica) {
  const Tokens block = replica.block.value_or(kUsualBlock);
  if (replica.kv_tokens) return *replica.kv_tokens < block;
  const std::optional<Footprint> footprint = ReplicaFootprint(config, replica, replica.model, block);
  return replica.kv_memory && footprint && replica.kv_memory->value() < footprint->Of(block).value();
}

// True: both are names of one model.
bool IsOneModel(const Config& config, absl::string_view name, absl::string_view other) {
  if (name == other) return true;
  const ModelConfig* model = FindModel(config, name);
  return model != nullptr && model == FindModel(config, other);
}

void WarnRanks(const Config& config, const ReplicaConfig& replica, std::vector<std::string>& warnings) {
  if (RanksOf(replica) < 2) return;
  for (const AdapterConfig& adapter : config.adapters) {
    if (!IsOneModel(config, adapter.model, replica.model)) continue;
    warnings.push_back(absl::StrCat("replicas: ", replica.id, ": the adapter ", adapter.name,
                                    " is not loaded on an engine with data-parallel ranks"));
  }
}

void WarnReplica(const Config& config, const ReplicaConfig& replica, std::vector<std::string>& warnings) {
  const std::string place = absl::StrCat("replicas: ", replica.id, ": ");
  if (replica.key == kHiddenSecret) warnings.push_back(place + "key is the placeholder *** of a printed configuration");
  if (replica.sleep && !absl::StartsWith(config.policy, "penstock")) {
    warnings.push_back(absl::StrCat(place, "sleep has no effect with the policy ", PolicyPairOf(config.policy).decide,
                                    ", which never lets a replica sleep"));
  }
  if (replica.kv_memory && replica.model.empty()) {
    warnings.push_back(place + "kv_memory counts only if the discovered model has a known shape; name the model");
  }
  const bool elastic = std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](const std::string& id) {
    const GpuConfig* gpu = FindGpu(config, id);
    return gpu && gpu->elastic_kv;
  });
  if (elastic && !replica.elastic && (replica.kv_memory || replica.kv_tokens)) {
    warnings.push_back(place + "its GPU's elastic_kv is the pool; kv_memory and kv_tokens do not bound it");
  }
  if (replica.elastic && !ShapeOfModel(config, replica.model)) {
    warnings.push_back(place + "elastic has an effect only where the shape of the model is known; name the model");
  }
  if (!elastic && HoldsNoBlock(config, replica)) {
    warnings.push_back(absl::StrCat(place, replica.kv_memory ? "kv_memory" : "kv_tokens",
                                    " holds less than one block of tokens: hardly any request fits"));
  }
  if (!replica.model.empty() && !ShapeOfModel(config, replica.model)) {
    warnings.push_back(absl::StrCat(place, "the shape of ", replica.model,
                                    " is unknown: its memory is kept in tokens and not checked against the GPU"));
  }
  WarnRanks(config, replica, warnings);
}

bool IsUnrelayed(absl::string_view name) {
  const auto same = [&](absl::string_view each) { return absl::EqualsIgnoreCase(each, name); };
  return absl::StartsWithIgnoreCase(name, kOwnPrefix) ||
         std::any_of(kHopByHopHeaders.begin(), kHopByHopHeaders.end(), same) ||
         std::any_of(kOwnHeaders.begin(), kOwnHeaders.end(), same);
}

void WarnRelayHeaders(const Config& config, std::vector<std::string>& warnings) {
  std::vector<absl::string_view> names;
  for (const std::string& name : config.relay_headers) {
    if (IsUnrelayed(name)) names.push_back(name);
  }
  if (names.empty()) return;
  warnings.push_back(absl::StrCat("relay_headers: never relayed: ", absl::StrJoin(names, ", "),
                                  " (framing, the connection's own, keys, or the router's own)"));
}

void WarnTraffic(const Config& config, std::vector<std::string>& warnings) {
  if (config.limits.max_body > config.limits.max_body_memory) {
    warnings.push_back("limits: a body over max_body_memory is refused with 503 for ever, although max_body allows it");
  }
  for (const std::string& text : config.trusted_proxies) {
    const absl::StatusOr<AddressRange> range = ParseAddressRange(text);
    if (range.ok() && (range->bits == 0 || range->bits == kMappedBits)) {
      warnings.push_back(absl::StrCat("trusted_proxies: ", text, " trusts every client to name any address"));
    }
  }
  WarnRelayHeaders(config, warnings);
}

void WarnPolicy(const Config& config, std::vector<std::string>& warnings) {
  const PolicyPair pair = PolicyPairOf(config.policy);
  if (pair.decide != pair.shadow) return;
  warnings.push_back(absl::StrCat("policy: ", pair.shadow, " in its own shadow has nothing to compare"));
}

void WarnRoles(const Config& config, std::vector<std::string>& warnings) {
  const bool any = std::any_of(config.replicas.begin(), config.replicas.end(),
                               [](const ReplicaConfig& replica) { return replica.role != ReplicaRole::kBoth; });
  if (!any) return;
  const PolicyPair pair = PolicyPairOf(config.policy);
  if (pair.decide == "penstock") return;
  warnings.push_back(absl::StrCat("policy: ", pair.decide,
                                  " knows no pairs: prefill replicas stay idle, and decode replicas compute all "
                                  "prompts"));
}

void WarnAdapters(const Config& config, std::vector<std::string>& warnings) {
  for (const AdapterConfig& adapter : config.adapters) {
    const bool in_pairs =
        std::any_of(config.replicas.begin(), config.replicas.end(), [&](const ReplicaConfig& replica) {
          return replica.role == ReplicaRole::kPrefill && IsOneModel(config, adapter.model, replica.model);
        });
    if (!in_pairs) continue;
    warnings.push_back(absl::StrCat("adapters: ", adapter.name,
                                    " is loaded at decode replicas only, which also compute its prompts; a prefill "
                                    "replica takes part where its engine has the adapter from its start"));
  }
}

// Variables are for secrets only.
void WarnVariable(absl::string_view key, absl::string_view value, std::vector<std::string>& warnings) {
  if (!absl::StrContains(value, "${")) return;
  warnings.push_back(absl::StrCat(key, ": ", value, " is taken as it stands: variables are replaced in secrets only"));
}

void WarnState(const StateConfig& state, std::vector<std::string>& warnings) {
  if (state.path.empty()) return;
  WarnVariable("state.path", state.path, warnings);
  const std::filesystem::path path(state.path);
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_directory(path, unknown)) {
    warnings.push_back("state.path: " + state.path + " is no folder");
  }
  if (path.is_relative())
    warnings.push_back("state.path: a relative path goes by the folder in which the router starts");
}

}  // namespace

std::vector<std::string> Warnings(const Config& config) {
  std::vector<std::string> warnings;
  const GpuUsers all_users = UsersOfGpus(config);
  for (const GpuConfig& gpu : config.gpus) {
    const Users& users = ReplicasOn(all_users, gpu.id);
    WarnReserves(config, gpu, users, warnings);
    WarnManaged(config, gpu, users, warnings);
    WarnCopies(config, gpu, users, warnings);
  }
  for (const ReplicaConfig& replica : config.replicas) WarnReplica(config, replica, warnings);
  for (std::string& warning : ClassWarnings(config)) warnings.push_back(std::move(warning));
  const bool all_named = std::none_of(config.replicas.begin(), config.replicas.end(),
                                      [](const ReplicaConfig& replica) { return replica.model.empty(); });
  std::set<const ModelConfig*> used;
  for (const ReplicaConfig& replica : config.replicas) used.insert(FindModel(config, replica.model));
  for (const ModelConfig& model : config.models) {
    if (all_named && !used.contains(&model))
      warnings.push_back(absl::StrCat("models: ", model.name, " is served by no replica"));
  }
  for (const TenantConfig& tenant : config.tenants) {
    if (std::find(tenant.keys.begin(), tenant.keys.end(), KeyDigest(kHiddenSecret)) != tenant.keys.end()) {
      warnings.push_back(
          absl::StrCat("tenants: ", tenant.name, ": a key is the placeholder *** of a printed configuration"));
    }
  }
  for (const std::string& key : config.keys_without_effect) {
    warnings.push_back(absl::StrCat(key, ": is read but has no effect yet"));
  }
  for (auto* const more : {&ClearTextWarnings, &HostMemoryWarnings, &SleepWarnings, &SliceWarnings}) {
    for (std::string& warning : more(config)) warnings.push_back(std::move(warning));
  }
  WarnTraffic(config, warnings);
  WarnState(config.state, warnings);
  WarnVariable("log.path", config.log.path, warnings);
  WarnPolicy(config, warnings);
  WarnRoles(config, warnings);
  WarnAdapters(config, warnings);
  if (!config.tenants.empty() && !config.tenant_header.empty()) {
    warnings.push_back("tenant_header has no effect: tenants are known by their keys");
  }
  if (!config.tenants.empty() && config.admin_listen.empty()) {
    warnings.push_back("tenants: /metrics, /healthz and /readyz need no key on listen; admin_listen moves them away");
  }
  return warnings;
}

}  // namespace penstock
