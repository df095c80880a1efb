// Shape of a model's KV cache: the dimensions that decide the bytes of a token.
//
// Built-in shapes, numbers from the configuration and Hugging Face config.json files (parsed in config/) all become a
// ModelShape. Formulas: vLLM v1/kv_cache_interface.py; sizes in the table checked against the models' own configs.
// Values without threads or I/O; building a footprint costs a few flops per group of layers.
#ifndef PENSTOCK_KVMODEL_MODEL_SHAPE_H_
#define PENSTOCK_KVMODEL_MODEL_SHAPE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units.h"
#include "kvmodel/footprint.h"

namespace penstock {

// Type of the cache's elements. An element of fp8 is half one of bf16; 32 elements of llama-server's q8_0 are 34 bytes.
// The type kFp8DsMla is vLLM's fp8_ds_mla: 656 bytes per token and latent layer (512 fp8 values, 4 scales, 64 bf16
// values). Elsewhere it is one byte per element.
enum class CacheDtype { kBf16, kFp16, kFp8, kFp32, kQ8_0, kQ4_0, kQ5_0, kQ5_1, kQ4_1, kFp8DsMla };
double BytesPerElement(CacheDtype dtype);

// Layers of equal KV layout.
struct LayerGroup {
  enum class Kind {
    kAttention,  // MHA, GQA, MQA: kv_heads x (key_dim + value_dim) elements per token and layer.
    kLatent,     // MLA: one vector of latent_dim elements, not split by tensor parallelism.
    kRecurrent,  // Mamba, linear attention: constant per sequence, state_elements and conv_elements.
  };
  Kind kind = Kind::kAttention;
  int layers = 0;
  int kv_heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  int latent_dim = 0;
  std::optional<Tokens> window;  // Sliding-window layers.
  double extra_bytes = 0;        // Per token and layer, dtype independent (sparse MLA indexer: 132).
  double conv_elements = 0;      // Recurrent: per sequence and layer, in the model's dtype.
  double state_elements = 0;     // Recurrent: per sequence and layer, in `state_bytes` per element.
  double state_bytes = 2;
  bool operator==(const LayerGroup&) const = default;
};

// Groups from the numbers of a Hugging Face config.json.

// MHA, GQA, MQA: equal key and value dimensions. A window of zero or less counts as none.
LayerGroup AttentionGroup(int layers, int kv_heads, int head_dim, std::optional<Tokens> window = std::nullopt);
// MLA: kv_lora_rank + qk_rope_head_dim. `indexer_dim`: index_head_dim of sparse MLA, 0 for none.
LayerGroup LatentGroup(int layers, int kv_lora_rank, int rope_dim, int indexer_dim = 0);
// `inner`: intermediate size; `kernel`: convolution kernel; `state`: state size. State bytes: 2, or 4 for float32.
LayerGroup Mamba1Group(int layers, int inner, int kernel, int state, double state_bytes = 2);
// `inner` is heads x head_dim.
struct Mamba2Dimensions {
  int heads = 0;     // mamba_n_heads, mamba_num_heads
  int head_dim = 0;  // mamba_d_head, mamba_head_dim
  int groups = 1;    // mamba_n_groups, n_groups
  int state = 0;     // mamba_d_state, ssm_state_size
  int kernel = 4;    // mamba_d_conv, conv_kernel
};
LayerGroup Mamba2Group(int layers, const Mamba2Dimensions& dimensions, double state_bytes = 2);
struct DeltaNetDimensions {
  int key_heads = 0;    // linear_num_key_heads
  int value_heads = 0;  // linear_num_value_heads
  int key_dim = 0;      // linear_key_head_dim
  int value_dim = 0;    // linear_value_head_dim
  int kernel = 4;       // linear_conv_kernel_dim
};
LayerGroup DeltaNetGroup(int layers, const DeltaNetDimensions& dimensions, double state_bytes = 2);

// The dimensions that decide the parameter count of a transformer with gated MLPs. Zero experts: a dense model.
struct TransformerDimensions {
  int layers = 0;
  int hidden = 0;
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int intermediate = 0;  // MLP size of dense layers.
  int dense_layers = 0;  // Leading dense layers of a mixture of experts (first_k_dense_replace).
  int experts = 0;       // Routed experts per layer.
  int experts_per_token = 0;
  int expert_intermediate = 0;
  int shared_intermediate = 0;  // MLP size of all shared experts together.
  int64_t vocabulary = 0;
  bool tied_embeddings = false;
};
struct ParameterCount {
  double all = 0;
  double active = 0;  // Passed through by a token.
};
// Matrices only; norms and biases are left out (under 0.1 %).
ParameterCount CountParameters(const TransformerDimensions& dimensions);

struct ModelShape {
  std::string name;
  std::vector<LayerGroup> groups;
  double parameters = 0;         // All parameters; 0: unknown.
  double active_parameters = 0;  // Parameters a token passes through (MoE); equals `parameters` when dense.
  int layers = 0;
  double attention_width = 0;  // Query heads times the mean dimension of keys and values; 0: unknown.
  Tokens max_context{0};       // 0: unknown.

  // Weight bytes at `bytes_per_parameter` (2 for bf16).
  Bytes Weights(double bytes_per_parameter = 2) const;
  bool operator==(const ModelShape&) const = default;
};

struct FootprintOptions {
  CacheDtype dtype = CacheDtype::kBf16;
  int tensor_parallel = 1;    // KV heads are split, and replicated when there are fewer heads than ranks.
  int pipeline_parallel = 1;  // Layers divide; the fullest stage counts.
  Tokens block{16};
  Tokens in_flight{1};  // See Footprint::in_flight.
};

// Bytes that one layer of this group keeps per token on one GPU; recurrent layers keep none.
double BytesPerTokenAndLayer(const LayerGroup& group, CacheDtype dtype, int tensor_parallel = 1);
// Bytes of state that one layer keeps per sequence on one GPU; zero where it grows with tokens.
double StateBytesPerLayer(const LayerGroup& group, int tensor_parallel = 1);

// Footprint per GPU of the group of GPUs, in bytes. InvalidArgument when parallel sizes are not positive, exceed the
// layers, or neither divide the heads nor are a multiple of them. InvalidArgument too when the shape has no cache at
// all. Groups with different windows are all given the widest: an upper bound.
absl::StatusOr<Footprint> FootprintOf(const ModelShape& shape, const FootprintOptions& options);

// The built-in shape of this name, or null. Organisation, case, separators, quantisation, dates and words for a tuning
// (instruct, chat, it, thinking) do not matter: "meta-llama/Llama-3.1-8B-Instruct" and "llama3.1:8b" find llama-3.1-8b.
// The remaining name must match wholly: a name with an unknown word is another model.
const ModelShape* FindBuiltinShape(absl::string_view name);
// Every built-in shape, sorted by name.
const std::vector<ModelShape>& BuiltinShapes();

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MODEL_SHAPE_H_
