// Lookups and memory arithmetic on a Config: what the checks, the fleet and the simulated engines must agree on.
//
// Pure functions of the configuration. "Per GPU" figures are those of each single GPU of a replica: kv_memory too is
// what the replica's cache takes on each of its GPUs (as an engine's own setting is).
#ifndef PENSTOCK_CONFIG_CAPACITY_H_
#define PENSTOCK_CONFIG_CAPACITY_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "config/config.h"
#include "kvmodel/footprint.h"
#include "kvmodel/model_shape.h"

namespace penstock {

// Null when there is none.
const GpuConfig* FindGpu(const Config& config, absl::string_view id);
// By name or alias.
const ModelConfig* FindModel(const Config& config, absl::string_view name);
// The configured shape of the model, else the built-in shape of its name, else null.
const ModelShape* ShapeOfModel(const Config& config, absl::string_view model);

// GPUs over tensor parallel ranks, at least one.
int PipelineParallel(const ReplicaConfig& replica);
// KV footprint per GPU of `model` on this replica; nullopt when the shape is unknown or the ranks do not divide it.
std::optional<Footprint> ReplicaFootprint(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                          Tokens block);
// Weights per GPU; nullopt when the shape or its parameters are unknown.
std::optional<Bytes> WeightsPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model);

// The memory that `tokens` of capacity stand for: sequences of `longest` tokens each (0: one sequence). Equal to
// tokens x bytes per token without windows and recurrent state; with them, as vLLM's kv_cache_size_tokens means it.
Amount AmountOfTokens(const Footprint& footprint, Tokens tokens, Tokens longest);
// `amount` rounded down to whole blocks of one sequence's growth.
Amount WholeBlocks(const Footprint& footprint, Amount amount);

// KV bytes per GPU from kv_memory, else from kv_tokens; nullopt when neither is given or the shape is unknown.
std::optional<Bytes> ConfiguredKvPerGpu(const Config& config, const ReplicaConfig& replica, absl::string_view model,
                                        Tokens block = Tokens(16));
// The cache of a simulated replica that names no size: 92 % of each GPU, less the weights of all its replicas, 4 GB for
// each of them and the configured caches, in equal parts among those without a size (the whole elastic pool on an
// elastic GPU). The constants are those of docs/step-time.md. nullopt: GPU or shape unknown, or nothing is left.
std::optional<Bytes> DefaultKvPerGpu(const Config& config, const ReplicaConfig& replica);

// Tokens of cache of a simulated replica: kv_tokens, kv_memory or the default, in whole blocks.
std::optional<Tokens> SimulatedKvTokens(const Config& config, const ReplicaConfig& replica, Tokens block = Tokens(16));
// Context that a simulated replica serves: max_model_len, else the smaller of the model's context and its cache.
Tokens SimulatedContext(const Config& config, const ReplicaConfig& replica, Tokens kv_tokens);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CAPACITY_H_
