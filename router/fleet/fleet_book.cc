#include "router/fleet/fleet_book.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "config/values/capacity.h"
#include "router/fleet/sleep_plan.h"
#include "router/fleet/tenants.h"

namespace penstock {
namespace {

// Ids are never given again, and an engine may list other models each time.
constexpr size_t kMostModelsOfFleet = 20'000;

// The pool of this name and unit; a new one where there is none.
PoolId PoolFor(Fleet& fleet, const std::string& name, bool in_bytes) {
  // A pool whose unit changes is another pool: amounts promised in the old unit run out in the old one.
  for (uint32_t i = 0; i < fleet.pools.size(); ++i) {
    if (fleet.pools[i].name == name && fleet.pools[i].in_bytes == in_bytes) return PoolId(i);
  }
  fleet.pools.push_back(PoolSpec{name, Amount(0), in_bytes, false});
  return PoolId(static_cast<uint32_t>(fleet.pools.size() - 1));
}

// The id of a canonical name; a new one where `ids` has none.
ModelId ModelFor(Fleet& fleet, absl::flat_hash_map<std::string, ModelId>& ids, const std::string& canonical) {
  const auto [found, fresh] = ids.try_emplace(canonical, static_cast<uint32_t>(fleet.models.size()));
  if (fresh) fleet.models.push_back(ModelSpec{canonical});
  return found->second;
}

}  // namespace

FleetBook::FleetBook(const Config& config) { Update(config); }

void FleetBook::Update(const Config& config) {
  config_ = config;
  fleet_.limits.max_queued_requests = config.limits.max_queued_requests;
  fleet_.limits.max_queued_bytes = config.limits.max_queued_bytes;
  RebuildClasses();
  fleet_.tenants = TenantSpecsOf(config);
  fleet_.fairness = FairnessOf(config);
  for (Entry& entry : entries_) entry.removed = true;
  for (const ReplicaConfig& replica : config.replicas) EnterReplica(replica);
  for (Entry& entry : entries_) {
    if (entry.removed) entry.discovery.reset();
  }
  Rebuild();
}

bool FleetBook::SetDiscovery(ReplicaId replica, std::optional<Discovery> discovery) {
  Entry& entry = entries_[replica.value()];
  if (!discovery && (entry.silent || entry.discovery)) return false;
  entry.silent = !discovery;
  if (discovery) {
    entry.discovery = std::move(discovery);
    Rebuild();
  }
  return true;
}

void FleetBook::EnterReplica(const ReplicaConfig& replica) {
  for (Entry& entry : entries_) {
    if (entry.config.id != replica.id || entry.config.url != replica.url) continue;
    entry.config = replica;
    entry.removed = false;
    return;
  }
  entries_.emplace_back().config = replica;
  fleet_.replicas.emplace_back();
}

void FleetBook::RebuildClasses() {
  for (const ClassConfig& given : config_.classes) {
    const ClassSpec spec{
        given.name,    given.ttft,        given.tpot,
        given.queue,   given.refuse_late, given.evictable,
        given.parking, given.share,       given.promote_after.value_or(Duration::Seconds(given.queue.seconds() / 2))};
    const std::optional<ClassId> known = ClassByName(given.name);
    if (known) {
      fleet_.classes[known->value()] = spec;
    } else {
      fleet_.classes.push_back(spec);
    }
    if (given.is_default) default_class_ = *ClassByName(given.name);
  }
}

void FleetBook::Rebuild() {
  names_.clear();
  NameConfiguredModels();
  // An elastic pool is fatal if any of its live replicas is.
  for (const ReplicaSpec& replica : fleet_.replicas) {
    if (replica.removed) continue;
    for (const PoolShare& share : replica.pools) fleet_.pools[share.pool.value()].overflow_fatal = false;
  }
  for (size_t i = 0; i < entries_.size(); ++i) RebuildReplica(i);
  for (GpuSpec& gpu : fleet_.gpus) {
    const GpuConfig* known = FindGpu(config_, gpu.name);
    gpu.memory = known == nullptr ? Bytes(0) : known->kind.memory - known->elastic_kv.value_or(Bytes(0));
  }
}

void FleetBook::NameConfiguredModels() {
  for (const ModelConfig& model : config_.models) {
    const ModelId id = ModelFor(fleet_, models_, model.name);
    names_[model.name] = id;
    for (const std::string& alias : model.aliases) names_[alias] = id;
  }
}

void FleetBook::RebuildReplica(size_t position) {
  Entry& entry = entries_[position];
  ReplicaSpec& spec = fleet_.replicas[position];
  spec.removed = entry.removed;
  if (entry.removed) return;  // Leases may live on: its memory stays described as it was.
  spec.name = entry.config.id;
  RebuildModels(entry, spec);
  RebuildGpus(entry, spec);
  RebuildMemory(entry, spec);
  SetPace(config_, entry, spec);
  spec.sleep = SleepOf(entry);
}

void FleetBook::RebuildModels(Entry& entry, ReplicaSpec& spec) {
  spec.models.clear();
  entry.engine_names.clear();
  const std::string base = BaseModel(config_, entry);
  if (base.empty()) return;
  absl::flat_hash_set<ModelId> listed;
  const auto add = [&](const std::string& canonical, const std::string& engine_name) {
    if (fleet_.models.size() >= kMostModelsOfFleet && !models_.contains(canonical)) return;
    const ModelId id = ModelFor(fleet_, models_, canonical);
    names_.try_emplace(canonical, id);
    names_.try_emplace(engine_name, id);
    if (!listed.insert(id).second) return;
    spec.models.push_back(id);
    entry.engine_names.emplace_back(id, engine_name);
  };
  if (!entry.discovery || entry.discovery->models.empty()) return add(base, entry.config.model);
  const std::vector<ServedModel>& served = entry.discovery->models;
  // The base is the served name that means the configured model, else the first: engines list adapters after it.
  size_t base_position = 0;
  for (size_t i = served.size(); i-- > 0;) {
    if (CanonicalName(config_, served[i].name) == base) base_position = i;
  }
  add(base, served[base_position].name);
  for (size_t i = 0; i < served.size(); ++i) {
    if (i != base_position) add(CanonicalName(config_, served[i].name), served[i].name);
  }
}

void FleetBook::RebuildGpus(const Entry& entry, ReplicaSpec& spec) {
  spec.gpus.clear();
  spec.time_sliced = true;
  for (const std::string& id : entry.config.gpus) {
    spec.gpus.push_back(GpuFor(id));
    const GpuConfig* gpu = FindGpu(config_, id);
    if (gpu && gpu->sharing == GpuSharing::kMps) spec.time_sliced = false;
  }
  // Configured ids have no spaces, so a GPU of its own never meets a named one.
  if (spec.gpus.empty()) spec.gpus.push_back(GpuFor("replica " + entry.config.id));
}

void FleetBook::RebuildMemory(const Entry& entry, ReplicaSpec& spec) {
  const MemoryPlan plan = MemoryOf(config_, entry);
  spec.max_context = plan.max_context;
  spec.prefix_cache = plan.prefix_cache;
  spec.shares_prompts = !plan.overflow_fatal;
  spec.resident = ResidentOf(config_, entry, plan);
  spec.pools.clear();
  for (const PoolPlan& planned : plan.pools) {
    const PoolId id = PoolFor(fleet_, planned.name, planned.in_bytes);
    PoolSpec& pool = fleet_.pools[id.value()];
    pool.capacity = planned.capacity;
    pool.overflow_fatal = pool.overflow_fatal || plan.overflow_fatal;
    spec.pools.push_back(PoolShare{id, plan.footprint});
  }
}

uint32_t FleetBook::GpuFor(const std::string& key) {
  const auto found = std::find(gpu_keys_.begin(), gpu_keys_.end(), key);
  if (found != gpu_keys_.end()) return static_cast<uint32_t>(found - gpu_keys_.begin());
  gpu_keys_.push_back(key);
  fleet_.gpus.push_back(GpuSpec{key, Bytes(0)});
  return static_cast<uint32_t>(gpu_keys_.size() - 1);
}

std::optional<ReplicaId> FleetBook::ReplicaByName(absl::string_view name) const {
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].removed && absl::string_view(entries_[i].config.id) == name) return ReplicaId(i);
  }
  return std::nullopt;
}

std::optional<ModelId> FleetBook::ModelByName(absl::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

bool FleetBook::AwaitsDiscovery() const {
  const auto known = [](const Entry& entry) {
    return entry.discovery || !entry.config.model.empty() || (entry.config.simulated && entry.config.url.empty());
  };
  const bool any_known =
      std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return !entry.removed && known(entry); });
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return !entry.removed && !known(entry) && !(entry.silent && any_known);
  });
}

std::string FleetBook::EngineModelName(ReplicaId replica, ModelId model) const {
  for (const auto& [id, name] : entries_[replica.value()].engine_names) {
    if (id == model) return name;
  }
  return fleet_.models[model.value()].name;
}

Tokens FleetBook::MaxContext(ModelId model) const {
  Tokens largest{0};
  for (const ReplicaSpec& replica : fleet_.replicas) {
    if (replica.removed) continue;
    if (!replica.Serves(model)) continue;
    if (replica.max_context.value() == 0) return Tokens(0);  // One unknown context bounds nothing.
    largest = std::max(largest, replica.max_context);
  }
  return largest;
}

std::vector<std::string> FleetBook::ModelNames() const {
  std::vector<bool> served(fleet_.models.size());
  for (const ReplicaSpec& replica : fleet_.replicas) {
    for (ModelId model : replica.models) served[model.value()] = served[model.value()] || !replica.removed;
  }
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fleet_.models.size(); ++i) {
    if (!served[i]) continue;
    names.push_back(fleet_.models[i].name);
    const ModelConfig* configured = FindModel(config_, fleet_.models[i].name);
    if (configured) names.insert(names.end(), configured->aliases.begin(), configured->aliases.end());
  }
  return names;
}

std::optional<ClassId> FleetBook::ClassByName(absl::string_view name) const {
  for (uint32_t i = 0; i < fleet_.classes.size(); ++i) {
    if (absl::string_view(fleet_.classes[i].name) == name) return ClassId(i);
  }
  return std::nullopt;
}

}  // namespace penstock
