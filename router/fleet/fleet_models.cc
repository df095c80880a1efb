#include "router/fleet/fleet_models.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "router/core/contract/vacancy.h"
#include "router/fleet/free_places.h"
#include "router/fleet/known_replica.h"

namespace penstock {
namespace {

// An engine may list other models each time: it leaves room for the names of others.
constexpr size_t kMostModelsOfFleet = 20'000;
constexpr int kMostModelsOfEngine = 2'000;
constexpr Tokens kNoContext{-1};

void Widen(Tokens context, Tokens& most) {
  // One unknown context bounds nothing.
  const bool unknown = context == Tokens(0) || most == Tokens(0);
  most = unknown ? Tokens(0) : std::max(most, context);
}

}  // namespace

bool LoadsAdapters(const Config& config, const FleetEntry& entry) {
  // A load reaches all ranks of an engine, and rivals of Penstock give no orders.
  if (entry.place || !absl::StartsWith(config.policy, "penstock")) return false;
  if (entry.discovery) return EngineOf(entry.discovery->kind).adapter_verbs.load != nullptr;
  return entry.config.simulated.has_value() && !entry.config.simulated->overflow_error;
}

void FleetModels::Begin(const Config& config, Fleet& fleet) {
  configured_.clear();
  words_.clear();
  refused_ = false;
  for (const ModelConfig& model : config.models) {
    const ModelId id = For(fleet, model.name);
    configured_[model.name] = id;
    for (const std::string& alias : model.aliases) configured_[alias] = id;
  }
  names_ = configured_;
  for (ModelSpec& model : fleet.models) {
    model.base.reset();
    model.storage = false;
  }
  for (const ModelConfig& model : config.models) fleet.models[For(fleet, model.name).value()].storage = model.storage;
  for (const AdapterConfig& adapter : config.adapters) words_[adapter.name].root = adapter.path;
}

ModelId FleetModels::For(Fleet& fleet, const std::string& canonical) {
  const auto [found, fresh] = ids_.try_emplace(canonical);
  if (!fresh) return found->second;
  const uint32_t place = FreePlaces::Take(free_, fleet.models.size());
  if (place == fleet.models.size()) fleet.models.emplace_back();
  fleet.models[place] = ModelSpec{canonical, std::nullopt};
  return found->second = ModelId(place);
}

std::vector<bool> FleetModels::NamedIn(const Fleet& fleet) const {
  std::vector<bool> named(fleet.models.size());
  for (const auto& [name, id] : names_) named[id.value()] = true;
  for (const ReplicaSpec& replica : fleet.replicas) {
    for (const ModelId id : replica.models) named[id.value()] = true;
  }
  for (size_t i = 0; i < named.size(); ++i) {
    const std::optional<ModelId> base = fleet.models[i].base;
    if (named[i] && base) named[base->value()] = true;
  }
  return named;
}

std::vector<uint32_t> FleetModels::Vacate(const std::vector<uint32_t>& quiet, Fleet& fleet) {
  const std::vector<bool> named = NamedIn(fleet);
  std::vector<uint32_t> vacated;
  for (const uint32_t id : quiet) {
    if (named[id] || IsVacant(fleet.models[id])) continue;
    ids_.erase(fleet.models[id].name);
    if (const auto bringer = bringers_.extract(ModelId(id)); bringer) {
      const auto brought = brought_.find(bringer.mapped());
      if (--brought->second == 0) brought_.erase(brought);
    }
    fleet.models[id] = ModelSpec();
    vacated.push_back(id);
  }
  return vacated;
}

std::optional<ModelId> FleetModels::Find(absl::string_view name) const {
  const auto known = [this](absl::string_view spelled) {
    const auto found = names_.find(spelled);
    return found == names_.end() ? std::nullopt : std::optional(found->second);
  };
  if (const std::optional<ModelId> exact = known(name)) return exact;
  absl::string_view plain = name;
  const bool tagged = absl::ConsumeSuffix(&plain, kLatestTag);
  if (absl::StrContains(plain, ":")) return std::nullopt;
  return tagged ? known(plain) : known(absl::StrCat(name, kLatestTag));
}

void FleetModels::NoteContexts(const Fleet& fleet) {
  contexts_.assign(fleet.models.size(), kNoContext);
  for (const ReplicaSpec& replica : fleet.replicas) {
    if (replica.removed) continue;
    for (const ModelId model : replica.models) Widen(replica.max_context, contexts_[model.value()]);
  }
}

void FleetModels::NoteContext(const Fleet& fleet, const ReplicaSpec& before, const ReplicaSpec& now) {
  const bool same = before.max_context == now.max_context;
  if (!same && before.models.size() > 1) return NoteContexts(fleet);
  contexts_.resize(fleet.models.size(), kNoContext);
  for (const ModelId model : now.models) Widen(now.max_context, contexts_[model.value()]);
  if (same) return;
  // The largest context may have been the old one.
  for (const ModelId model : before.models) {
    contexts_[model.value()] = kNoContext;
    for (const ReplicaSpec& replica : fleet.replicas) {
      if (!replica.removed && replica.Serves(model)) Widen(replica.max_context, contexts_[model.value()]);
    }
  }
}

Tokens FleetModels::ContextOf(ModelId model) const {
  return model.value() < contexts_.size() ? std::max(Tokens(0), contexts_[model.value()]) : Tokens(0);
}

ModelWords FleetModels::WordsOf(absl::string_view model) const {
  const auto found = words_.find(model);
  return found == words_.end() ? ModelWords() : found->second;
}

std::optional<ModelId> FleetModels::Add(const std::string& canonical, const std::string& engine_name, FleetEntry& entry,
                                        Fleet& fleet, ReplicaSpec& spec) {
  const bool fresh = !ids_.contains(canonical);
  if (fresh && !MayBring(entry)) {
    refused_ = true;
    return std::nullopt;
  }
  const ModelId id = For(fleet, canonical);
  if (fresh) Bring(id, entry);
  Name(canonical, id);
  Name(engine_name, id);
  if (listed_.insert(id).second) {
    spec.models.push_back(id);
    entry.engine_names.emplace(id, engine_name);
  }
  ++entered_;
  return id;
}

bool FleetModels::MayBring(const FleetEntry& entry) const {
  const auto brought = brought_.find(entry.bringer);
  return ids_.size() < kMostModelsOfFleet && (brought == brought_.end() || brought->second < kMostModelsOfEngine);
}

void FleetModels::Bring(ModelId id, FleetEntry& entry) {
  if (entry.bringer == 0) entry.bringer = ++last_bringer_;
  bringers_[id] = entry.bringer;
  ++brought_[entry.bringer];
}

void FleetModels::Name(const std::string& name, ModelId id) {
  const auto [found, fresh] = names_.try_emplace(name, id);
  disputed_ = disputed_ || (!fresh && found->second != id && !configured_.contains(name));
}

std::string FleetModels::Canonical(const Fleet& fleet, const std::string& name) const {
  const auto found = configured_.find(name);
  return found == configured_.end() ? name : fleet.models[found->second.value()].name;
}

std::optional<ModelId> FleetModels::Listed(const std::string& canonical) const {
  const auto found = ids_.find(canonical);
  return found != ids_.end() && listed_.contains(found->second) ? std::optional(found->second) : std::nullopt;
}

void FleetModels::SetBase(Fleet& fleet, ModelId adapter, std::optional<ModelId> base) {
  std::optional<ModelId>& known = fleet.models[adapter.value()].base;
  disputed_ = disputed_ || (known && known != base);
  known = base;
}

bool FleetModels::EnterAgain(const Config& config, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec) {
  const absl::flat_hash_map<ModelId, std::string> before = std::move(entry.engine_names);
  disputed_ = false;
  Enter(config, entry, fleet, spec);
  if (disputed_) return false;
  return std::all_of(before.begin(), before.end(), [&](const auto& each) {
    const auto now = entry.engine_names.find(each.first);
    if (now == entry.engine_names.end()) return false;
    const std::string& name = each.second;
    return now->second == name || fleet.models[each.first.value()].name == name || configured_.contains(name);
  });
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
    AddServed(base, entry, fleet, spec);
  }
  if (LoadsAdapters(config, entry)) OfferAdapters(config, base, entry, fleet, spec);
}

void FleetModels::AddServed(const std::string& base, FleetEntry& entry, Fleet& fleet, ReplicaSpec& spec) {
  const std::vector<ServedModel>& served = entry.discovery->models;
  // The base is the served name that means the configured model, else the first: engines list adapters after it.
  size_t base_position = 0;
  for (size_t i = served.size(); i-- > 0;) {
    if (Canonical(fleet, served[i].name) == base) base_position = i;
  }
  const std::optional<ModelId> base_id = Add(base, served[base_position].name, entry, fleet, spec);
  for (const ServedModel& each : served) {
    if (each.root.empty() && each.owner.empty()) continue;
    ModelWords& words = words_[Canonical(fleet, each.name)];
    if (words.root.empty()) words.root = each.root;
    if (!each.owner.empty()) words.owner = each.owner;
  }
  for (size_t i = 0; i < served.size(); ++i) {
    if (i != base_position) Add(Canonical(fleet, served[i].name), served[i].name, entry, fleet, spec);
  }
  // Once all names of the engine are known.
  for (const ServedModel& each : served) {
    const std::optional<ModelId> id = Listed(Canonical(fleet, each.name));
    if (!id || each.parent.empty() || id == base_id) continue;
    const std::optional<ModelId> parent = Listed(Canonical(fleet, each.parent));
    SetBase(fleet, *id, parent && parent != id ? parent : base_id);
  }
}

void FleetModels::OfferAdapters(const Config& config, const std::string& base, FleetEntry& entry, Fleet& fleet,
                                ReplicaSpec& spec) {
  const std::optional<ModelId> base_id = Find(base);
  spec.adapters.most = entry.config.max_adapters;
  for (const AdapterConfig& adapter : config.adapters) {
    if (Canonical(fleet, adapter.model) != base) continue;
    const std::optional<ModelId> id = Add(adapter.name, adapter.name, entry, fleet, spec);
    if (!id || id == base_id) continue;
    SetBase(fleet, *id, base_id);
    spec.adapters.on_demand.push_back(*id);
    spec.adapters.load = std::max(spec.adapters.load, adapter.load);
    spec.adapters.timeout = std::max(spec.adapters.timeout, adapter.timeout);
  }
}

}  // namespace penstock
