#include "router/fleet/fleet_book.h"

#include <algorithm>

#include "backends/engines/catalogue/engine_catalogue.h"
#include "config/values/capacity.h"
#include "router/fleet/tenants.h"

namespace penstock {
namespace {

// The recognised engine, else the configured one, else the generic one.
const EngineDeclaration& EngineOf(const ReplicaConfig& config, const std::optional<Discovery>& discovery) {
  if (discovery) return EngineOf(discovery->kind);
  const EngineDeclaration* configured = EngineByName(config.engine);
  return configured != nullptr ? *configured : EngineOf(EngineKind::kOpenAi);
}

// The smaller of two token counts of which zero means unknown.
Tokens SmallerKnown(Tokens a, Tokens b) {
  if (a.value() == 0) return b;
  if (b.value() == 0) return a;
  return std::min(a, b);
}

bool OverflowFatal(const ReplicaConfig& config, const std::optional<Discovery>& discovery) {
  return (discovery && discovery->overflow_fatal) || (config.simulated && config.simulated->overflow_error);
}

// Engines that serve a prompt's head from the blocks of an earlier one.
bool KeepsPrefixes(const ReplicaConfig& config, const std::optional<Discovery>& discovery) {
  if (config.simulated) return !config.simulated->overflow_error;
  return EngineOf(config, discovery).defaults.keeps_prefixes;
}

}  // namespace

FleetBook::FleetBook(const Config& config) { Update(config); }

void FleetBook::Update(const Config& config) {
  config_ = config;
  fleet_.limits.max_queued_requests = config.limits.max_queued_requests;
  fleet_.limits.max_queued_bytes = config.limits.max_queued_bytes;
  RebuildClasses();
  fleet_.tenants = TenantSpecsOf(config);
  for (Seat& seat : seats_) seat.removed = true;
  for (const ReplicaConfig& replica : config.replicas) TakeSeat(replica);
  for (Seat& seat : seats_) {
    if (seat.removed) seat.discovery.reset();
  }
  Rebuild();
}

void FleetBook::SetDiscovery(ReplicaId replica, Discovery discovery) {
  seats_[replica.value()].discovery = std::move(discovery);
  Rebuild();
}

void FleetBook::TakeSeat(const ReplicaConfig& replica) {
  for (Seat& seat : seats_) {
    if (seat.config.id != replica.id || seat.config.url != replica.url) continue;
    seat.config = replica;
    seat.removed = false;
    return;
  }
  seats_.emplace_back().config = replica;
  fleet_.replicas.emplace_back();
}

void FleetBook::RebuildClasses() {
  for (const ClassConfig& given : config_.classes) {
    const ClassSpec spec{given.name, given.ttft, given.tpot, given.queue, given.refuse_late, given.evictable};
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
  for (size_t i = 0; i < seats_.size(); ++i) RebuildReplica(i);
}

void FleetBook::NameConfiguredModels() {
  for (const ModelConfig& model : config_.models) {
    const ModelId id = ModelFor(model.name);
    names_[model.name] = id;
    for (const std::string& alias : model.aliases) names_[alias] = id;
  }
}

void FleetBook::RebuildReplica(size_t position) {
  Seat& seat = seats_[position];
  ReplicaSpec& spec = fleet_.replicas[position];
  spec.removed = seat.removed;
  if (seat.removed) return;  // Leases may live on: its memory stays described as it was.
  spec.name = seat.config.id;
  RebuildModels(seat, spec);
  RebuildGpus(seat, spec);
  RebuildMemory(seat, spec);
  RebuildPace(seat, spec);
}

std::string FleetBook::CanonicalName(absl::string_view name) const {
  const ModelConfig* model = FindModel(config_, name);
  return model ? model->name : std::string(name);
}

std::string FleetBook::BaseModel(const Seat& seat) const {
  if (!seat.config.model.empty()) return CanonicalName(seat.config.model);
  if (!seat.discovery || seat.discovery->models.empty()) return "";
  return CanonicalName(seat.discovery->models.front().name);
}

void FleetBook::RebuildModels(Seat& seat, ReplicaSpec& spec) {
  spec.models.clear();
  seat.engine_names.clear();
  const std::string base = BaseModel(seat);
  if (base.empty()) return;
  const auto add = [&](const std::string& canonical, const std::string& engine_name) {
    const ModelId id = ModelFor(canonical);
    names_.try_emplace(canonical, id);
    names_.try_emplace(engine_name, id);
    if (std::find(spec.models.begin(), spec.models.end(), id) != spec.models.end()) return;
    spec.models.push_back(id);
    seat.engine_names.emplace_back(id, engine_name);
  };
  if (!seat.discovery || seat.discovery->models.empty()) return add(base, seat.config.model);
  const std::vector<ServedModel>& served = seat.discovery->models;
  // The base is the served name that means the configured model, else the first: engines list adapters after it.
  size_t base_position = 0;
  for (size_t i = served.size(); i-- > 0;) {
    if (CanonicalName(served[i].name) == base) base_position = i;
  }
  add(base, served[base_position].name);
  for (size_t i = 0; i < served.size(); ++i) {
    if (i != base_position) add(CanonicalName(served[i].name), served[i].name);
  }
}

void FleetBook::RebuildGpus(const Seat& seat, ReplicaSpec& spec) {
  spec.gpus.clear();
  spec.time_sliced = true;
  for (const std::string& id : seat.config.gpus) {
    spec.gpus.push_back(GpuFor(id));
    const GpuConfig* gpu = FindGpu(config_, id);
    if (gpu && gpu->sharing == GpuSharing::kMps) spec.time_sliced = false;
  }
  // Configured ids have no spaces, so a GPU of its own never meets a named one.
  if (spec.gpus.empty()) spec.gpus.push_back(GpuFor("replica " + seat.config.id));
}

Tokens FleetBook::BlockOf(const Seat& seat) const {
  if (seat.config.block) return *seat.config.block;
  if (seat.config.simulated && seat.config.simulated->overflow_error) return Tokens(1);
  if (seat.discovery && seat.discovery->block.value() > 0) return seat.discovery->block;
  return EngineOf(seat.config, seat.discovery).defaults.block;
}

Tokens FleetBook::ContextOf(const Seat& seat, Tokens kv_tokens) const {
  Tokens context = seat.config.max_context.value_or(Tokens(0));
  const std::string base = BaseModel(seat);
  bool told = false;
  if (seat.discovery) {
    for (const ServedModel& served : seat.discovery->models) {
      if (CanonicalName(served.name) != base && seat.discovery->models.size() > 1) continue;
      context = SmallerKnown(context, served.max_context);
      told = told || served.max_context.value() > 0;
    }
    context = SmallerKnown(context, seat.discovery->sequence_limit);
    told = told || seat.discovery->sequence_limit.value() > 0;
  }
  if (told) return context;
  if (seat.config.simulated) return SmallerKnown(context, SimulatedContext(config_, seat.config, kv_tokens));
  const ModelShape* shape = ShapeOfModel(config_, base);
  return shape ? SmallerKnown(context, shape->max_context) : context;
}

void FleetBook::RebuildMemory(const Seat& seat, ReplicaSpec& spec) {
  const ReplicaConfig& config = seat.config;
  const Tokens block = BlockOf(seat);
  const std::string base = BaseModel(seat);
  const Tokens simulated_tokens =
      config.simulated ? SimulatedKvTokens(config_, config, block).value_or(Tokens(0)) : Tokens(0);
  spec.max_context = ContextOf(seat, simulated_tokens);
  spec.prefix_cache = Tokens(0);
  spec.pools.clear();
  const std::optional<Footprint> shaped = ReplicaFootprint(config_, config, base, block);
  const Footprint footprint = shaped.value_or(Footprint::InTokens(block));

  Tokens tokens = config.kv_tokens.value_or(Tokens(0));
  if (tokens.value() == 0 && seat.discovery) tokens = seat.discovery->kv_tokens;
  if (tokens.value() == 0) tokens = simulated_tokens;
  std::optional<Amount> capacity;
  if (shaped && config.kv_memory) {
    capacity = WholeBlocks(footprint, Amount(config.kv_memory->value()));
  } else if (tokens.value() > 0) {
    capacity = shaped ? AmountOfTokens(footprint, tokens, spec.max_context) : Amount(tokens.value());
  }

  const auto join = [&](const std::string& name, Amount amount, bool in_bytes, const Footprint& share) {
    const PoolId id = PoolFor(name, in_bytes);
    PoolSpec& pool = fleet_.pools[id.value()];
    pool.capacity = amount;
    pool.overflow_fatal = pool.overflow_fatal || OverflowFatal(config, seat.discovery);
    spec.pools.push_back(PoolShare{id, share});
  };
  // A replica without listed GPUs has one pool of its own.
  const size_t shares = std::max<size_t>(1, config.gpus.size());
  for (size_t i = 0; i < shares; ++i) {
    const GpuConfig* gpu = config.gpus.empty() ? nullptr : FindGpu(config_, config.gpus[i]);
    if (gpu && gpu->elastic_kv && shaped) {
      join(gpu->id, Amount(gpu->elastic_kv->value()), true, footprint);
    } else if (capacity) {
      if (KeepsPrefixes(config, seat.discovery)) spec.prefix_cache = tokens;
      join(shares == 1 ? config.id : config.id + "@" + config.gpus[i], *capacity, shaped.has_value(), footprint);
    }
  }
}

void FleetBook::RebuildPace(const Seat& seat, ReplicaSpec& spec) const {
  const ReplicaConfig& config = seat.config;
  const Discovery* found = seat.discovery ? &*seat.discovery : nullptr;
  const EngineDeclaration& engine = EngineOf(config, seat.discovery);
  spec.batch_budget = engine.defaults.batch_budget;
  if (found && found->batch_budget.value() > 0) spec.batch_budget = found->batch_budget;
  if (config.simulated) spec.batch_budget = config.simulated->max_batched_tokens;
  if (config.max_batched_tokens) spec.batch_budget = *config.max_batched_tokens;

  spec.max_sequences = engine.defaults.max_sequences;
  if (found && found->max_sequences > 0) spec.max_sequences = found->max_sequences;
  if (found) spec.abort_hold = engine.capabilities.abort_memory_hold;
  if (config.simulated) spec.max_sequences = config.simulated->max_seqs;
  if (config.max_seqs) spec.max_sequences = *config.max_seqs;

  const std::string base = BaseModel(seat);
  const ModelShape* shape = ShapeOfModel(config_, base);
  const GpuConfig* gpu = config.gpus.empty() ? nullptr : FindGpu(config_, config.gpus.front());
  spec.prior_known = shape != nullptr && gpu != nullptr;
  spec.prior = StepCoefficients{};
  if (!spec.prior_known) return;
  StepPriorOptions options;
  options.tensor_parallel = config.tensor_parallel;
  if (const ModelConfig* model = FindModel(config_, base)) {
    options.bytes_per_parameter = model->bytes_per_parameter;
    options.cache_dtype = model->cache_dtype;
  }
  spec.prior = StepPrior(gpu->kind, *shape, options);
  if (!config.simulated) return;
  for (double* term : {&spec.prior.a, &spec.prior.b, &spec.prior.c, &spec.prior.d}) {
    *term /= config.simulated->time_scale;
  }
}

PoolId FleetBook::PoolFor(const std::string& name, bool in_bytes) {
  // A pool whose unit changes is another pool: amounts promised in the old unit run out in the old one.
  for (uint32_t i = 0; i < fleet_.pools.size(); ++i) {
    if (fleet_.pools[i].name == name && fleet_.pools[i].in_bytes == in_bytes) return PoolId(i);
  }
  fleet_.pools.push_back(PoolSpec{name, Amount(0), in_bytes, false});
  return PoolId(static_cast<uint32_t>(fleet_.pools.size() - 1));
}

ModelId FleetBook::ModelFor(const std::string& canonical) {
  for (uint32_t i = 0; i < fleet_.models.size(); ++i) {
    if (fleet_.models[i].name == canonical) return ModelId(i);
  }
  fleet_.models.push_back(ModelSpec{canonical});
  return ModelId(static_cast<uint32_t>(fleet_.models.size() - 1));
}

uint32_t FleetBook::GpuFor(const std::string& key) {
  const auto found = std::find(gpu_keys_.begin(), gpu_keys_.end(), key);
  if (found != gpu_keys_.end()) return static_cast<uint32_t>(found - gpu_keys_.begin());
  gpu_keys_.push_back(key);
  return static_cast<uint32_t>(gpu_keys_.size() - 1);
}

std::optional<ReplicaId> FleetBook::ReplicaByName(absl::string_view name) const {
  for (uint32_t i = 0; i < seats_.size(); ++i) {
    if (!seats_[i].removed && absl::string_view(seats_[i].config.id) == name) return ReplicaId(i);
  }
  return std::nullopt;
}

const Discovery* FleetBook::discovery(ReplicaId replica) const {
  const Seat& seat = seats_[replica.value()];
  return seat.discovery ? &*seat.discovery : nullptr;
}

std::optional<ModelId> FleetBook::ModelByName(absl::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

bool FleetBook::AwaitsDiscovery() const {
  return std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) {
    return !seat.removed && !seat.discovery && !(seat.config.simulated && seat.config.url.empty());
  });
}

std::string FleetBook::EngineModelName(ReplicaId replica, ModelId model) const {
  for (const auto& [id, name] : seats_[replica.value()].engine_names) {
    if (id == model) return name;
  }
  return fleet_.models[model.value()].name;
}

Tokens FleetBook::MaxContext(ModelId model) const {
  Tokens largest{0};
  for (const ReplicaSpec& replica : fleet_.replicas) {
    if (replica.removed) continue;
    if (std::find(replica.models.begin(), replica.models.end(), model) == replica.models.end()) continue;
    if (replica.max_context.value() == 0) return Tokens(0);  // One unknown context bounds nothing.
    largest = std::max(largest, replica.max_context);
  }
  return largest;
}

std::vector<std::string> FleetBook::ModelNames() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fleet_.models.size(); ++i) {
    const bool served = std::any_of(fleet_.replicas.begin(), fleet_.replicas.end(), [i](const ReplicaSpec& replica) {
      return !replica.removed &&
             std::find(replica.models.begin(), replica.models.end(), ModelId(i)) != replica.models.end();
    });
    if (!served) continue;
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
