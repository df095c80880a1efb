#include "router/fleet/fleet_book.h"

#include <algorithm>

#include "config/values/capacity.h"
#include "config/values/in_effect.h"
#include "router/core/contract/vacancy.h"
#include "router/fleet/sleep_plan.h"
#include "router/fleet/tenants.h"

namespace penstock {
namespace {

void SetMemory(const Config& config, const KnownReplica& replica, FreePlaces& free, Fleet& fleet, ReplicaSpec& spec) {
  const MemoryPlan plan = MemoryOf(config, replica);
  spec.max_context = plan.max_context;
  spec.prefix_cache = plan.prefix_cache;
  spec.host_cache = plan.host_cache;
  spec.shares_prompts = !plan.overflow_fatal;
  spec.resident = ResidentOf(config, replica, plan);
  spec.pools.clear();
  spec.role = static_cast<EngineRole>(replica.config.role);
  spec.transfer = 0;
  for (const PoolPlan& planned : plan.pools) {
    constexpr double kBytesPerGB = 1e9;
    constexpr double kPrompt = 4096;
    if (planned.in_bytes && spec.role == EngineRole::kPrefill) {
      spec.transfer = plan.footprint.Expected(kPrompt) / kPrompt / (replica.config.transfer * kBytesPerGB);
    }
    const PoolId id = PoolFor(fleet, free, planned.name, planned.in_bytes);
    PoolSpec& pool = fleet.pools[id.value()];
    pool.capacity = planned.capacity;
    pool.limited = planned.limited;
    spec.pools.push_back(PoolShare{id, plan.footprint});
  }
}

constexpr double kSecondsPerHour = 3600;

void SetGpus(const Config& all, const ReplicaConfig& config, FreePlaces& free, Fleet& fleet, ReplicaSpec& spec) {
  spec.gpus.clear();
  spec.time_sliced = true;
  spec.price = 0;
  for (const std::string& id : config.gpus) {
    spec.gpus.push_back(GpuFor(fleet, free, id));
    const GpuConfig* gpu = FindGpu(all, id);
    if (gpu && gpu->sharing == GpuSharing::kMps) spec.time_sliced = false;
    spec.price += gpu ? gpu->price / kSecondsPerHour : 0;
  }
  // Configured ids have no spaces, so a GPU of its own never meets a named one.
  if (spec.gpus.empty()) spec.gpus.push_back(GpuFor(fleet, free, "replica " + config.id));
}

void SetDoubt(const Config& config, const FleetEntry& entry, ReplicaSpec& spec) {
  const std::optional<KnownReplica> before = BeforeDoubt(entry);
  const MemoryPlan plan = before ? MemoryOf(config, *before) : MemoryPlan();
  spec.doubted_context = plan.max_context;
  spec.doubted_prompt = before ? LongestPrompt(plan) : Tokens(0);
}

// All of a live replica but its models.
void Describe(const Config& config, const FleetEntry& entry, FreePlaces& free, Fleet& fleet, ReplicaSpec& spec) {
  const KnownReplica replica = ReplicaOf(entry);
  spec.name = replica.config.id;
  SetGpus(config, replica.config, free, fleet, spec);
  SetMemory(config, replica, free, fleet, spec);
  SetPace(config, replica, spec);
  spec.sleep = SleepOf(config, replica);
  SetDoubt(config, entry, spec);
}

// A pool is fatal if any of its live replicas is.
void NoteFatalPools(Fleet& fleet) {
  for (const bool set : {false, true}) {
    for (const ReplicaSpec& replica : fleet.replicas) {
      if (replica.removed || replica.shares_prompts == set) continue;
      for (const PoolShare& share : replica.pools) fleet.pools[share.pool.value()].overflow_fatal = set;
    }
  }
}

std::optional<ClassId> FindClass(const Fleet& fleet, absl::string_view name) {
  for (uint32_t i = 0; i < fleet.classes.size(); ++i) {
    if (!IsVacant(fleet.classes[i]) && absl::string_view(fleet.classes[i].name) == name) return ClassId(i);
  }
  return std::nullopt;
}

// Enters the classes of the configuration, the most urgent first, and returns the default one. A place is a rank, so a
// new class stands behind all that are more urgent.
ClassId TakeClasses(const Config& config, FreePlaces& free, Fleet& fleet) {
  ClassId by_default;
  uint32_t least = 0;
  for (const ClassConfig& given : config.classes) {
    const ClassSpec spec{given.name,    given.ttft,        given.tpot,
                         given.queue,   given.refuse_late, given.evictable,
                         given.parking, given.share,       PromoteAfterInEffect(given)};
    const std::optional<ClassId> known = FindClass(fleet, given.name);
    const ClassId id = known ? *known : ClassId(FreePlaces::Take(free.classes, fleet.classes.size(), least));
    if (id.value() == fleet.classes.size()) fleet.classes.emplace_back();
    fleet.classes[id.value()] = spec;
    least = std::max(least, id.value() + 1);
    if (given.is_default) by_default = id;
  }
  return by_default;
}

bool IsKnown(const FleetEntry& entry) {
  return entry.discovery || !entry.config.model.empty() || (entry.config.simulated && entry.config.url.empty());
}

UnheardReplicas Unheard(const std::vector<FleetEntry>& entries) {
  UnheardReplicas unheard;
  bool any_known = false;
  for (const FleetEntry& entry : entries) {
    if (entry.removed) continue;
    const bool known = IsKnown(entry);
    any_known = any_known || known;
    unheard.any = unheard.any || !known;
    unheard.decisive = unheard.decisive || (!known && !entry.silent);
  }
  unheard.decisive = unheard.decisive || (unheard.any && !any_known);
  return unheard;
}

}  // namespace

FleetBook::FleetBook(const Config& config) { Update(config); }

void FleetBook::Update(const Config& config) {
  config_ = config;
  fleet_.limits.max_queued_requests = config.limits.max_queued_requests;
  fleet_.limits.max_queued_bytes = config.limits.max_queued_bytes;
  default_class_ = TakeClasses(config, free_, fleet_);
  fleet_.tenants = TenantSpecsOf(config);
  fleet_.fairness = FairnessOf(config);
  for (Entry& entry : entries_) entry.removed = true;
  for (const ReplicaConfig& replica : config.replicas) EnterReplica(replica);
  for (Entry& entry : entries_) {
    if (!entry.removed) continue;
    entry.discovery.reset();
    entry.doubted.reset();
  }
  Rebuild();
  unheard_ = Unheard(entries_);
}

bool FleetBook::SetDiscovery(ReplicaId replica, std::optional<Discovery> discovery) {
  Entry& entry = entries_[replica.value()];
  if (!discovery && (entry.silent || entry.discovery)) return false;
  entry.silent = !discovery;
  if (discovery) {
    const bool other_models = entry.discovery && entry.discovery->models != discovery->models;
    TakeFacts(entry, *std::move(discovery));
    if (other_models || !RebuildOne(replica.value())) Rebuild();
  }
  unheard_ = Unheard(entries_);
  return true;
}

void FleetBook::EnterReplica(const ReplicaConfig& replica) {
  for (Entry& entry : entries_) {
    const bool follows = &entry != &entries_[entry.first];
    if (follows || entry.config.id != replica.id || entry.config.url != replica.url) continue;
    entry.config = replica;
    entry.removed = false;
    return;
  }
  const uint32_t place = FreePlaces::Take(free_.replicas, entries_.size());
  if (place == entries_.size()) entries_.emplace_back();
  entries_[place] = Entry();
  entries_[place].config = replica;
  entries_[place].first = place;
}

void FleetBook::Rebuild() {
  PlanRanks(entries_, free_.replicas);
  fleet_.replicas.resize(entries_.size());
  models_.Begin(config_, fleet_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    ReplicaSpec& spec = fleet_.replicas[i];
    spec.removed = entry.removed;
    if (entry.vacant) spec = VacantReplica();
    if (entry.removed) continue;  // Leases may live on: its memory stays described as it was.
    models_.Enter(config_, entry, fleet_, spec);
    Describe(config_, entry, free_, fleet_, spec);
  }
  NoteFatalPools(fleet_);
  models_.NoteContexts(fleet_);
  for (GpuSpec& gpu : fleet_.gpus) {
    const GpuConfig* known = FindGpu(config_, gpu.name);
    gpu.elastic = known == nullptr ? Bytes(0) : known->elastic_kv.value_or(Bytes(0));
    gpu.memory = known == nullptr ? Bytes(0) : known->kind.memory - gpu.elastic;
    gpu.managed = known != nullptr && known->elastic == ElasticMode::kManage;
  }
  fleet_.hosts.clear();
  for (const NodeConfig& node : config_.nodes) {
    if (node.sleep_memory) fleet_.hosts.push_back({node.id, *node.sleep_memory});
  }
}

bool FleetBook::RebuildOne(size_t position) {
  Entry& entry = entries_[position];
  ReplicaSpec& spec = fleet_.replicas[position];
  if (entry.removed || entry.place || !penstock::RanksOf(entry).empty()) return false;
  const ReplicaSpec before = spec;
  if (!models_.EnterAgain(config_, entry, fleet_, spec)) return false;
  Describe(config_, entry, free_, fleet_, spec);
  NoteFatalPools(fleet_);
  models_.NoteContext(fleet_, before, spec);
  return true;
}

Vacated FleetBook::Vacate(const QuietPlaces& quiet) {
  Vacated vacated;
  vacated.replicas = VacateEntries(quiet.replicas, entries_);
  for (const uint32_t place : vacated.replicas) fleet_.replicas[place] = VacantReplica();
  VacateUnused(config_, quiet.idle_pools, fleet_, vacated);
  vacated.models = models_.Vacate(quiet.models, fleet_);
  if (!vacated.models.empty() && models_.refused()) Rebuild();
  vacated.classes = VacateClasses(config_, quiet.classes, fleet_);
  return vacated;
}

void FleetBook::Offer(const Vacated& places) {
  free_.Add(places);
  models_.Offer(places.models);
}

std::optional<ReplicaId> FleetBook::ReplicaByName(absl::string_view name) const {
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].removed && absl::string_view(entries_[i].config.id) == name) return ReplicaId(i);
  }
  return std::nullopt;
}

std::vector<ReplicaId> FleetBook::RanksOf(ReplicaId first) const {
  std::vector<ReplicaId> ranks;
  for (uint32_t i = first.value(); i < entries_.size(); ++i) {
    if (entries_[i].first == first.value() && !entries_[i].removed) ranks.emplace_back(i);
  }
  return ranks;
}

std::optional<ModelId> FleetBook::ModelByName(absl::string_view name) const { return models_.Find(name); }

std::string FleetBook::EngineModelName(ReplicaId replica, ModelId model) const {
  const auto& names = entries_[replica.value()].engine_names;
  const auto found = names.find(model);
  return found == names.end() ? fleet_.models[model.value()].name : found->second;
}

std::vector<std::string> FleetBook::ModelNames() const {
  std::vector<bool> served(fleet_.models.size());
  for (const ReplicaSpec& replica : fleet_.replicas) {
    for (ModelId model : replica.models) served[model.value()] = served[model.value()] || !replica.removed;
  }
  absl::flat_hash_map<absl::string_view, const ModelConfig*> configured;
  for (const ModelConfig& model : config_.models) configured.try_emplace(model.name, &model);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fleet_.models.size(); ++i) {
    if (!served[i]) continue;
    names.push_back(fleet_.models[i].name);
    const auto found = configured.find(fleet_.models[i].name);
    if (found == configured.end()) continue;
    names.insert(names.end(), found->second->aliases.begin(), found->second->aliases.end());
  }
  return names;
}

std::optional<ClassId> FleetBook::ClassByName(absl::string_view name) const { return FindClass(fleet_, name); }

}  // namespace penstock
