#include "router/fleet/fleet_models.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
namespace {

// An engine may list other models each time.
constexpr size_t kMostModelsOfFleet = 20'000;

}  // namespace

bool LoadsAdapters(const Config& config, const FleetEntry& entry) {
  // A load reaches all ranks of an engine, and rivals of Penstock give no orders.
  if (entry.place || !absl::StartsWith(config.policy, "penstock")) return false;
  if (entry.discovery) return EngineOf(entry.discovery->kind).adapter_verbs.load != nullptr;
  return entry.config.simulated.has_value() && !entry.config.simulated->overflow_error;
}

void FleetModels::Begin(const Config& config, Fleet& fleet) {
  names_.clear();
  roots_.clear();
  for (const ModelConfig& model : config.models) {
    const ModelId id = For(fleet, model.name);
    names_[model.name] = id;
    for (const std::string& alias : model.aliases) names_[alias] = id;
  }
  for (ModelSpec& model : fleet.models) {
    model.base.reset();
    model.storage = false;
  }
  for (const ModelConfig& model : config.models) fleet.models[For(fleet, model.name).value()].storage = model.storage;
  for (const AdapterConfig& adapter : config.adapters) roots_.try_emplace(adapter.name, adapter.path);
}

ModelId FleetModels::For(Fleet& fleet, const std::string& canonical) {
  const auto [found, fresh] = ids_.try_emplace(canonical, static_cast<uint32_t>(fleet.models.size()));
  if (fresh) fleet.models.push_back(ModelSpec{canonical, std::nullopt});
  return found->second;
}

std::optional<ModelId> FleetModels::Find(absl::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

void FleetModels::NoteContexts(const Fleet& fleet) {
  contexts_.assign(fleet.models.size(), Tokens(0));
  std::vector<bool> unbounded(fleet.models.size());
  for (const ReplicaSpec& replica : fleet.replicas) {
    if (replica.removed) continue;
    for (const ModelId model : replica.models) {
      const uint32_t i = model.value();
      // One unknown context bounds nothing.
      unbounded[i] = unbounded[i] || replica.max_context == Tokens(0);
      contexts_[i] = unbounded[i] ? Tokens(0) : std::max(contexts_[i], replica.max_context);
    }
  }
}

Tokens FleetModels::ContextOf(ModelId model) const {
  return model.value() < contexts_.size() ? contexts_[model.value()] : Tokens(0);
}

std::string FleetModels::RootOf(absl::string_view adapter) const {
  const auto found = roots_.find(adapter);
  return found == roots_.end() ? "" : found->second;
}

std::optional<ModelId> FleetModels::Add(const std::string& canonical, const std::string& engine_name, FleetEntry& entry,
                                        Fleet& fleet, ReplicaSpec& spec) {
  if (fleet.models.size() >= kMostModelsOfFleet && !ids_.contains(canonical)) return std::nullopt;
  const ModelId id = For(fleet, canonical);
  names_.try_emplace(canonical, id);
  names_.try_emplace(engine_name, id);
  if (listed_.insert(id).second) {
    spec.models.push_back(id);
    entry.engine_names.emplace_back(id, engine_name);
  }
  return id;
}

void FleetModels::Enter(const Config& config, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec) {
  spec.models.clear();
  spec.adapters = AdapterSpec();
  entry.engine_names.clear();
  listed_.clear();
  const std::string base = BaseModel(config, entry);
  if (base.empty()) return;
  if (!entry.discovery || entry.discovery->models.empty()) {
    Add(base, entry.config.model, entry, fleet, spec);
  } else {
    AddServed(config, base, entry, fleet, spec);
  }
  if (LoadsAdapters(config, entry)) OfferAdapters(config, base, entry, fleet, spec);
}

void FleetModels::AddServed(const Config& config, const std::string& base, FleetEntry& entry, Fleet& fleet,
                            ReplicaSpec& spec) {
  const std::vector<ServedModel>& served = entry.discovery->models;
  // The base is the served name that means the configured model, else the first: engines list adapters after it.
  size_t base_position = 0;
  for (size_t i = served.size(); i-- > 0;) {
    if (CanonicalName(config, served[i].name) == base) base_position = i;
  }
  const std::optional<ModelId> base_id = Add(base, served[base_position].name, entry, fleet, spec);
  for (const ServedModel& each : served) {
    if (!each.root.empty()) roots_.try_emplace(CanonicalName(config, each.name), each.root);
  }
  for (size_t i = 0; i < served.size(); ++i) {
    if (i == base_position) continue;
    const std::optional<ModelId> id = Add(CanonicalName(config, served[i].name), served[i].name, entry, fleet, spec);
    if (!id || served[i].parent.empty() || id == base_id) continue;
    const std::optional<ModelId> parent = Find(CanonicalName(config, served[i].parent));
    fleet.models[id->value()].base = parent && parent != id ? parent : base_id;
  }
}

void FleetModels::OfferAdapters(const Config& config, const std::string& base, FleetEntry& entry, Fleet& fleet,
                                ReplicaSpec& spec) {
  const std::optional<ModelId> base_id = Find(base);
  spec.adapters.most = entry.config.max_adapters;
  for (const AdapterConfig& adapter : config.adapters) {
    if (CanonicalName(config, adapter.model) != base) continue;
    const std::optional<ModelId> id = Add(adapter.name, adapter.name, entry, fleet, spec);
    if (!id || id == base_id) continue;
    fleet.models[id->value()].base = base_id;
    spec.adapters.on_demand.push_back(*id);
    spec.adapters.load = std::max(spec.adapters.load, adapter.load);
    spec.adapters.timeout = std::max(spec.adapters.timeout, adapter.timeout);
  }
}

}  // namespace penstock
