// Lookups and memory arithmetic on a Config. The checks, the fleet and the simulated engines share them.
//
// Pure functions of the configuration. A figure "per GPU" is that of each single GPU of a replica. So is kv_memory,
// as in an engine's own settings.
#ifndef PENSTOCK_CONFIG_VALUES_CAPACITY_H_
#define PENSTOCK_CONFIG_VALUES_CAPACITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/values/config_values.h"
#include "kvmodel/footprint.h"
#include "kvmodel/model_shape.h"

namespace penstock {

// The block of most engines.
inline constexpr Tokens kUsualBlock{16};

// The GPU of this id, or null.
const GpuConfig* FindGpu(const Config& config, absl::string_view id);
// True: the replica has a GPU on a node with `sleep_memory`.
bool IsHostBounded(const Config& config, const ReplicaConfig& replica);
// The configured model of this name or alias, or null.
const ModelConfig* FindModel(const Config& config, absl::string_view name);
// The configured shape of the model, else the built-in shape of its name, else null.
const ModelShape* ShapeOfModel(const Config& config, absl::string_view model);

// The data-parallel ranks of a simulated replica; 1 for others, whose engines tell.
int RanksOf(const ReplicaConfig& replica);
// The replica that one data-parallel rank is: it has a name (id/rank) and an equal part of the GPUs. `place` counts
// from 0. With one rank, it is `replica` itself.
ReplicaConfig RankConfig(const ReplicaConfig& replica, int rank, int place, int ranks);
// GPUs of one data-parallel rank over tensor parallel ranks, at least one.
int PipelineParallel(const ReplicaConfig& replica);
// KV footprint per GPU of `model` on this replica; nullopt when the shape is unknown or the ranks do not divide it.
std::optional<Footprint> ReplicaFootprint(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                          Tokens block);
// Weights per GPU; nullopt when the shape or its parameters are unknown.
std::optional<Bytes> WeightsPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model);

// The memory of `tokens` of capacity, in sequences of `longest` tokens each (0: one sequence). Equal to tokens x bytes
// per token without windows and recurrent state; with them, equal to the meaning of vLLM's kv_cache_size_tokens.
Amount AmountOfTokens(const Footprint& footprint, Tokens tokens, Tokens longest);
// `amount` rounded down to whole blocks of one sequence's growth.
Amount WholeBlocks(const Footprint& footprint, Amount amount);

// KV bytes per GPU from kv_memory, else from kv_tokens; nullopt when neither is given or the shape is unknown.
std::optional<Bytes> ConfiguredKvPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                        Tokens block = kUsualBlock);
// The memory that a replica takes on each of its GPUs while it is awake.
struct ResidentMemory {
  Bytes weights{0};  // Or all of it, where the key `resident` gives it.
  Bytes kv{0};       // Outside of an elastic pool.
  Bytes total() const { return weights + kv; }
};
// `kv` per GPU is zero where the memory of the cache is unknown or elastic.
ResidentMemory ResidentPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model, Bytes kv);

// The memory of its host that each GPU's part of a sleeping replica takes: its weights, else `resident`, which is no
// less. Zero: nobody knows.
Bytes HostMemoryPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model);

// The most memory of a GPU that its replicas take at one time. A replica with `sleep` counts only where it takes more
// than each other such replica: they need not be awake together.
struct GpuDemand {
  ResidentMemory memory;
  std::vector<std::string> replicas;  // The ids of the replicas that count.
};
// The replicas that run on each GPU, by its id, in the order of the configuration, which outlives them.
using GpuUsers = absl::flat_hash_map<absl::string_view, std::vector<const ReplicaConfig*>>;
GpuUsers UsersOfGpus(const Config& config);
const std::vector<const ReplicaConfig*>& ReplicasOn(const GpuUsers& users, absl::string_view gpu);
// O(users).
GpuDemand DemandOn(const Config& config, const GpuConfig& gpu, const std::vector<const ReplicaConfig*>& users);

// The cache of a simulated replica without a configured size, per GPU. A GPU gives 92 % of its memory, less the weights
// of its replicas, 4 GB for each replica and the configured caches. Replicas without a size share the rest equally. On
// an elastic GPU it is the whole pool. Source of the constants: docs/step-time.md. nullopt: the GPU or the shape is
// unknown, or nothing is left.
std::optional<Bytes> DefaultKvPerGpu(const Config& config, const ReplicaConfig& replica);

// The cache of a replica in the memory of its host.
struct HostCacheSize {
  Tokens tokens{0};
  double seconds = 0;  // To load one of them.
};
// nullopt: it has none, or the bytes of a token are unknown.
std::optional<HostCacheSize> HostCacheOf(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                         Tokens block = kUsualBlock);

// Tokens of cache of a simulated replica: kv_tokens, kv_memory or the default, in whole blocks.
std::optional<Tokens> SimulatedKvTokens(const Config& config, const ReplicaConfig& replica, Tokens block = kUsualBlock);
// The context of a simulated replica: max_model_len, else the smaller of the model's context and the replica's cache.
Tokens SimulatedContext(const Config& config, const ReplicaConfig& replica, Tokens kv_tokens);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_VALUES_CAPACITY_H_
