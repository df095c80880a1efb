#include "kvmodel/model_shape.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Bytes per element of a convolution state, which engines store in the model's 16-bit type.
constexpr double kConvBytes = 2;
// Bytes per token and latent layer of vLLM's fp8_ds_mla.
constexpr double kFp8DsMlaBytes = 656;

int HeadsPerGpu(int heads, int tensor_parallel) { return std::max(1, heads / tensor_parallel); }

absl::Status CheckHeads(const ModelShape& shape, const LayerGroup& group, int tensor_parallel) {
  if (group.kind != LayerGroup::Kind::kAttention) return absl::OkStatus();
  if (group.kv_heads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("model '", shape.name, "': kv_heads must be at least 1"));
  }
  if (group.kv_heads % tensor_parallel == 0 || tensor_parallel % group.kv_heads == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model '", shape.name, "': tensor_parallel ", tensor_parallel,
                                                 " neither divides nor is a multiple of its ", group.kv_heads,
                                                 " KV heads"));
}

absl::Status CheckOptions(const ModelShape& shape, const FootprintOptions& options) {
  if (options.tensor_parallel < 1 || options.pipeline_parallel < 1 || options.block < Tokens(1) ||
      options.in_flight < Tokens(1)) {
    return absl::InvalidArgumentError("parallel sizes, block and tokens in flight must be at least 1");
  }
  int layers = 0;
  for (const LayerGroup& group : shape.groups) {
    if (group.layers < 1) {
      return absl::InvalidArgumentError(absl::StrCat("model '", shape.name, "': every group needs layers"));
    }
    if (absl::Status heads = CheckHeads(shape, group, options.tensor_parallel); !heads.ok()) return heads;
    layers += group.layers;
  }
  if (options.pipeline_parallel > std::max(layers, shape.layers)) {
    return absl::InvalidArgumentError(absl::StrCat("model '", shape.name, "': pipeline_parallel ",
                                                   options.pipeline_parallel, " exceeds its ",
                                                   std::max(layers, shape.layers), " layers"));
  }
  return absl::OkStatus();
}

}  // namespace

double BytesPerElement(CacheDtype dtype) {
  switch (dtype) {
    case CacheDtype::kBf16:
    case CacheDtype::kFp16:
      return 2;
    case CacheDtype::kFp8:
    case CacheDtype::kFp8DsMla:
      return 1;
    case CacheDtype::kFp32:
      return 4;
    case CacheDtype::kQ8_0:
      return 34.0 / 32;
    case CacheDtype::kQ4_0:
      return 18.0 / 32;
    case CacheDtype::kQ5_0:
      return 22.0 / 32;
    case CacheDtype::kQ5_1:
      return 24.0 / 32;
    case CacheDtype::kQ4_1:
      return 20.0 / 32;
  }
  return 2;
}

LayerGroup AttentionGroup(int layers, int kv_heads, int head_dim, std::optional<Tokens> window) {
  LayerGroup group;
  group.kind = LayerGroup::Kind::kAttention;
  group.layers = layers;
  group.kv_heads = kv_heads;
  group.key_dim = head_dim;
  group.value_dim = head_dim;
  if (window && *window > Tokens(0)) group.window = window;
  return group;
}

LayerGroup LatentGroup(int layers, int kv_lora_rank, int rope_dim, int indexer_dim) {
  LayerGroup group;
  group.kind = LayerGroup::Kind::kLatent;
  group.layers = layers;
  group.latent_dim = kv_lora_rank + rope_dim;
  // One byte per value and a four-byte scale per 128 of them.
  group.extra_bytes = indexer_dim + 4.0 * indexer_dim / 128;
  return group;
}

LayerGroup Mamba1Group(int layers, int inner, int kernel, int state, double state_bytes) {
  LayerGroup group;
  group.kind = LayerGroup::Kind::kRecurrent;
  group.layers = layers;
  group.conv_elements = static_cast<double>(inner) * (kernel - 1);
  group.state_elements = static_cast<double>(inner) * state;
  group.state_bytes = state_bytes;
  return group;
}

LayerGroup Mamba2Group(int layers, const Mamba2Dimensions& dimensions, double state_bytes) {
  const double inner = static_cast<double>(dimensions.heads) * dimensions.head_dim;
  LayerGroup group;
  group.kind = LayerGroup::Kind::kRecurrent;
  group.layers = layers;
  group.conv_elements = (inner + 2.0 * dimensions.groups * dimensions.state) * (dimensions.kernel - 1);
  group.state_elements = inner * dimensions.state;
  group.state_bytes = state_bytes;
  return group;
}

LayerGroup DeltaNetGroup(int layers, const DeltaNetDimensions& dimensions, double state_bytes) {
  const double keys = static_cast<double>(dimensions.key_heads) * dimensions.key_dim;
  const double values = static_cast<double>(dimensions.value_heads) * dimensions.value_dim;
  LayerGroup group;
  group.kind = LayerGroup::Kind::kRecurrent;
  group.layers = layers;
  group.conv_elements = (2 * keys + values) * (dimensions.kernel - 1);
  group.state_elements = values * dimensions.key_dim;
  group.state_bytes = state_bytes;
  return group;
}

ParameterCount CountParameters(const TransformerDimensions& d) {
  const double hidden = d.hidden;
  const double embeddings = hidden * static_cast<double>(d.vocabulary);
  const double attention = 2 * hidden * d.head_dim * (static_cast<double>(d.query_heads) + d.kv_heads);
  const int dense_layers = d.experts > 0 ? std::min(d.dense_layers, d.layers) : d.layers;
  const int mixed_layers = d.layers - dense_layers;
  const double dense = 3 * hidden * d.intermediate;
  const double expert = 3 * hidden * d.expert_intermediate;
  const double shared = 3 * hidden * d.shared_intermediate + hidden * d.experts;
  const double common = embeddings + d.layers * attention + dense_layers * dense + mixed_layers * shared;
  const double head = d.tied_embeddings ? 0 : embeddings;
  return {common + head + mixed_layers * expert * d.experts, common + mixed_layers * expert * d.experts_per_token};
}

Bytes ModelShape::Weights(double bytes_per_parameter) const {
  return Bytes(static_cast<int64_t>(std::llround(parameters * bytes_per_parameter)));
}

double BytesPerTokenAndLayer(const LayerGroup& group, CacheDtype dtype, int tensor_parallel) {
  switch (group.kind) {
    case LayerGroup::Kind::kAttention:
      return HeadsPerGpu(group.kv_heads, tensor_parallel) * (group.key_dim + group.value_dim) * BytesPerElement(dtype) +
             group.extra_bytes;
    case LayerGroup::Kind::kLatent:
      if (dtype == CacheDtype::kFp8DsMla) return kFp8DsMlaBytes + group.extra_bytes;
      return group.latent_dim * BytesPerElement(dtype) + group.extra_bytes;
    case LayerGroup::Kind::kRecurrent:
      return 0;
  }
  return 0;
}

double StateBytesPerLayer(const LayerGroup& group, int tensor_parallel) {
  if (group.kind != LayerGroup::Kind::kRecurrent) return 0;
  return (group.conv_elements * kConvBytes + group.state_elements * group.state_bytes) / tensor_parallel;
}

absl::StatusOr<Footprint> FootprintOf(const ModelShape& shape, const FootprintOptions& options) {
  if (absl::Status status = CheckOptions(shape, options); !status.ok()) return status;
  Footprint footprint{0, 0, Tokens(0), 0, options.block, options.in_flight};
  for (const LayerGroup& group : shape.groups) {
    // The fullest pipeline stage, layer kinds being spread evenly.
    const int layers = (group.layers + options.pipeline_parallel - 1) / options.pipeline_parallel;
    const double per_token = layers * BytesPerTokenAndLayer(group, options.dtype, options.tensor_parallel);
    footprint.constant += layers * StateBytesPerLayer(group, options.tensor_parallel);
    if (group.window) {
      footprint.windowed_per_token += per_token;
      footprint.window = std::max(footprint.window, *group.window);
    } else {
      footprint.full_per_token += per_token;
    }
  }
  if (footprint.full_per_token + footprint.windowed_per_token + footprint.constant <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("model '", shape.name, "': its layers keep no cache"));
  }
  return footprint;
}

}  // namespace penstock
