#include "config/values/capacity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/ids.h"

namespace penstock {
namespace {

constexpr double kUsableShare = 0.92;
constexpr int64_t kReserveBytes = 4'000'000'000;

bool RunsOn(const ReplicaConfig& replica, absl::string_view gpu) {
  return std::any_of(replica.gpus.begin(), replica.gpus.end(),
                     [gpu](const std::string& id) { return absl::string_view(id) == gpu; });
}

// The part of one GPU's memory for each of its replicas without a configured cache size.
std::optional<int64_t> EqualShare(const Config& config, const GpuConfig& gpu) {
  double left = kUsableShare * gpu.kind.memory.AsDouble();
  int64_t without_size = 0;
  for (const ReplicaConfig& replica : config.replicas) {
    if (!RunsOn(replica, gpu.id)) continue;
    left -= WeightsPerGpu(config, replica, replica.model).value_or(Bytes(0)).AsDouble() + kReserveBytes;
    if (const auto kv = ConfiguredKvPerGpu(config, replica, replica.model)) {
      left -= kv->AsDouble();
    } else {
      ++without_size;
    }
  }
  if (left <= 0 || without_size == 0) return std::nullopt;
  return static_cast<int64_t>(left / static_cast<double>(without_size));
}

}  // namespace

const GpuConfig* FindGpu(const Config& config, absl::string_view id) {
  for (const GpuConfig& gpu : config.gpus) {
    if (absl::string_view(gpu.id) == id) return &gpu;
  }
  return nullptr;
}

const ModelConfig* FindModel(const Config& config, absl::string_view name) {
  for (const ModelConfig& model : config.models) {
    if (absl::string_view(model.name) == name) return &model;
    for (const std::string& alias : model.aliases) {
      if (absl::string_view(alias) == name) return &model;
    }
  }
  return nullptr;
}

const ModelShape* ShapeOfModel(const Config& config, absl::string_view model) {
  if (model.empty()) return nullptr;
  const ModelConfig* configured = FindModel(config, model);
  if (configured && configured->shape) return &*configured->shape;
  return FindBuiltinShape(configured ? absl::string_view(configured->name) : model);
}

ReplicaConfig RankConfig(const ReplicaConfig& replica, int rank, int place, int ranks) {
  ReplicaConfig own = replica;
  if (ranks <= 1) return own;
  own.id = absl::StrCat(replica.id, "/", rank);
  own.gpus.clear();
  const size_t part = replica.gpus.size() / static_cast<size_t>(ranks);
  // GPUs that the ranks cannot share equally are nobody's: each rank then has a GPU of its own.
  if (part * static_cast<size_t>(ranks) == replica.gpus.size()) {
    const auto first = replica.gpus.begin() + static_cast<std::ptrdiff_t>(part) * place;
    own.gpus.assign(first, first + static_cast<std::ptrdiff_t>(part));
  }
  if (part > 0) own.tensor_parallel = std::min(own.tensor_parallel, static_cast<int>(part));
  if (own.simulated) own.simulated->ranks = 1;
  return own;
}

int RanksOf(const ReplicaConfig& replica) { return replica.simulated ? replica.simulated->ranks : 1; }

int PipelineParallel(const ReplicaConfig& replica) {
  const int gpus = static_cast<int>(replica.gpus.size());
  return std::max(1, gpus / std::max(1, replica.tensor_parallel) / RanksOf(replica));
}

std::optional<Footprint> ReplicaFootprint(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                          Tokens block) {
  const ModelShape* shape = ShapeOfModel(config, model);
  if (!shape) return std::nullopt;
  const ModelConfig* configured = FindModel(config, model);
  FootprintOptions options;
  if (configured) options.dtype = configured->cache_dtype;
  options.tensor_parallel = replica.tensor_parallel;
  options.pipeline_parallel = PipelineParallel(replica);
  options.block = block;
  const absl::StatusOr<Footprint> footprint = FootprintOf(*shape, options);
  if (!footprint.ok()) return std::nullopt;
  return *footprint;
}

std::optional<Bytes> WeightsPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model) {
  const ModelShape* shape = ShapeOfModel(config, model);
  if (!shape || shape->parameters <= 0) return std::nullopt;
  const ModelConfig* configured = FindModel(config, model);
  const int64_t weights = shape->Weights(configured ? configured->bytes_per_parameter : 2).value();
  return Bytes(weights / (int64_t{std::max(1, replica.tensor_parallel)} * PipelineParallel(replica)));
}

Amount AmountOfTokens(const Footprint& footprint, Tokens tokens, Tokens longest) {
  const int64_t block = footprint.block.value();
  int64_t length = longest.value() > 0 ? std::min(longest.value(), tokens.value()) : tokens.value();
  length = std::max(block, length / block * block);
  const double per_token = footprint.Of(Tokens(length)).AsDouble() / static_cast<double>(length);
  return Amount(static_cast<int64_t>(per_token * tokens.AsDouble()));
}

Amount WholeBlocks(const Footprint& footprint, Amount amount) {
  const double per_block = footprint.full_per_token * footprint.block.AsDouble();
  if (per_block < 1) return amount;
  const double blocks = static_cast<double>(static_cast<int64_t>(amount.AsDouble() / per_block));
  return Amount(static_cast<int64_t>(blocks * per_block));
}

std::optional<Bytes> ConfiguredKvPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                        Tokens block) {
  if (replica.kv_memory) return replica.kv_memory;
  if (!replica.kv_tokens) return std::nullopt;
  const auto footprint = ReplicaFootprint(config, replica, model, block);
  if (!footprint) return std::nullopt;
  return Bytes(AmountOfTokens(*footprint, *replica.kv_tokens, replica.max_context.value_or(Tokens(0))).value());
}

ResidentMemory ResidentPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model, Bytes kv) {
  if (replica.resident) return {*replica.resident, Bytes(0)};
  return {WeightsPerGpu(config, replica, model).value_or(Bytes(0)), kv};
}

bool IsHostBounded(const Config& config, const ReplicaConfig& replica) {
  return std::any_of(config.nodes.begin(), config.nodes.end(), [&](const NodeConfig& node) {
    return node.sleep_memory && std::any_of(replica.gpus.begin(), replica.gpus.end(),
                                            [&](const std::string& gpu) { return NodeOf(gpu) == node.id; });
  });
}

Bytes HostMemoryPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model) {
  return WeightsPerGpu(config, replica, model).value_or(replica.resident.value_or(Bytes(0)));
}

GpuUsers UsersOfGpus(const Config& config) {
  GpuUsers users;
  for (const ReplicaConfig& replica : config.replicas) {
    for (const std::string& gpu : replica.gpus) {
      std::vector<const ReplicaConfig*>& on_it = users[gpu];
      if (on_it.empty() || on_it.back() != &replica) on_it.push_back(&replica);
    }
  }
  return users;
}

const std::vector<const ReplicaConfig*>& ReplicasOn(const GpuUsers& users, absl::string_view gpu) {
  static const std::vector<const ReplicaConfig*> none;
  const auto found = users.find(gpu);
  return found == users.end() ? none : found->second;
}

GpuDemand DemandOn(const Config& config, const GpuConfig& gpu, const std::vector<const ReplicaConfig*>& users) {
  GpuDemand demand;
  demand.memory.kv = gpu.elastic_kv.value_or(Bytes(0));
  ResidentMemory largest;
  std::string sleeper;
  for (const ReplicaConfig* user : users) {
    const ReplicaConfig& replica = *user;
    Bytes kv(0);
    if (!gpu.elastic_kv) kv = ConfiguredKvPerGpu(config, replica, replica.model).value_or(Bytes(0));
    const ResidentMemory own = ResidentPerGpu(config, replica, replica.model, kv);
    if (!replica.sleep) {
      demand.memory.weights = demand.memory.weights + own.weights;
      demand.memory.kv = demand.memory.kv + own.kv;
      demand.replicas.push_back(replica.id);
    } else if (sleeper.empty() || own.total() > largest.total()) {
      largest = own;
      sleeper = replica.id;
    }
  }
  demand.memory.weights = demand.memory.weights + largest.weights;
  demand.memory.kv = demand.memory.kv + largest.kv;
  if (!sleeper.empty()) demand.replicas.push_back(sleeper);
  return demand;
}

std::optional<Bytes> DefaultKvPerGpu(const Config& config, const ReplicaConfig& replica) {
  if (replica.gpus.empty() || !ShapeOfModel(config, replica.model)) return std::nullopt;
  std::optional<int64_t> smallest;
  for (const std::string& id : replica.gpus) {
    const GpuConfig* gpu = FindGpu(config, id);
    if (!gpu) return std::nullopt;
    const std::optional<int64_t> share =
        gpu->elastic_kv ? std::optional<int64_t>(gpu->elastic_kv->value()) : EqualShare(config, *gpu);
    if (!share) return std::nullopt;
    smallest = smallest ? std::min(*smallest, *share) : *share;
  }
  return Bytes(*smallest);
}

std::optional<HostCacheSize> HostCacheOf(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                         Tokens block) {
  constexpr double kPrompt = 4096;
  constexpr double kBytesPerGB = 1e9;
  if (!replica.host_cache) return std::nullopt;
  const std::optional<Footprint> footprint = ReplicaFootprint(config, replica, model, block);
  if (!footprint) return std::nullopt;
  const double token = footprint->Expected(kPrompt) / kPrompt;
  if (!(token > 0)) return std::nullopt;
  const double gpus = static_cast<double>(std::max<size_t>(1, replica.gpus.size()));
  const double scale = replica.simulated ? replica.simulated->time_scale : 1;
  HostCacheSize size;
  size.tokens = Tokens(static_cast<int64_t>(replica.host_cache->memory.AsDouble() / (token * gpus)));
  size.seconds = token / (replica.host_cache->bandwidth * kBytesPerGB) / scale;
  return size;
}

std::optional<Tokens> SimulatedKvTokens(const Config& config, const ReplicaConfig& replica, Tokens block) {
  const int64_t granule = std::max<int64_t>(1, block.value());
  const bool elastic = std::any_of(replica.gpus.begin(), replica.gpus.end(), [&](const std::string& id) {
    const GpuConfig* gpu = FindGpu(config, id);
    return gpu != nullptr && gpu->elastic_kv;
  });
  if (!elastic && !replica.kv_memory && replica.kv_tokens)
    return Tokens(replica.kv_tokens->value() / granule * granule);
  const auto footprint = ReplicaFootprint(config, replica, replica.model, Tokens(granule));
  const auto bytes = !elastic && replica.kv_memory ? replica.kv_memory : DefaultKvPerGpu(config, replica);
  if (!footprint || !bytes) return std::nullopt;
  // A sequence of the model's whole context decides the cost of a token. Without windows every length gives the same.
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  Tokens longest = replica.max_context.value_or(shape->max_context);
  if (longest.value() < granule) longest = Tokens(granule);
  const double per_token = AmountOfTokens(*footprint, longest, longest).AsDouble() / longest.AsDouble();
  if (per_token <= 0) return std::nullopt;
  const auto tokens = static_cast<int64_t>(bytes->AsDouble() / per_token);
  return Tokens(tokens / granule * granule);
}

Tokens SimulatedContext(const Config& config, const ReplicaConfig& replica, Tokens kv_tokens) {
  if (replica.simulated && replica.simulated->max_model_len) return *replica.simulated->max_model_len;
  const ModelShape* shape = ShapeOfModel(config, replica.model);
  if (!shape || shape->max_context.value() == 0) return kv_tokens;
  return std::min(shape->max_context, kv_tokens);
}

}  // namespace penstock
