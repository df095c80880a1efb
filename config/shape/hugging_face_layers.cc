#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/shape/hugging_face_fields.h"

namespace penstock {
namespace {

constexpr int kMostLayers = 10'000;

LayerKind KindOfName(HuggingFaceFields& fields, const std::string& name) {
  if (name == "full_attention" || name == "attention" || name == "hybrid" || name == "global") return LayerKind::kFull;
  if (name == "sliding_attention" || name == "chunked_attention" || name == "local") return LayerKind::kSliding;
  if (name == "linear_attention" || name == "mamba" || name == "mamba2" || name == "recurrent") {
    return LayerKind::kRecurrent;
  }
  if (name == "mlp" || name == "moe") return LayerKind::kNone;
  fields.Fail(absl::StrCat("layer_types: unknown kind of layer \"", name, "\""));
  return LayerKind::kFull;
}

std::vector<LayerKind> FromList(HuggingFaceFields& fields, const nlohmann::json& list) {
  std::vector<LayerKind> kinds;
  for (const nlohmann::json& name : list) {
    kinds.push_back(KindOfName(fields, name.is_string() ? name.get<std::string>() : ""));
  }
  return kinds;
}

// NemotronH: M is Mamba, * attention, - and E feed-forward only.
std::vector<LayerKind> FromPattern(HuggingFaceFields& fields, const std::string& pattern) {
  std::vector<LayerKind> kinds;
  for (const char letter : pattern) {
    if (letter == 'M')
      kinds.push_back(LayerKind::kRecurrent);
    else if (letter == '*')
      kinds.push_back(LayerKind::kFull);
    else if (letter == '-' || letter == 'E')
      kinds.push_back(LayerKind::kNone);
    else
      fields.Fail(absl::StrCat("hybrid_override_pattern: unknown letter ", std::string(1, letter)));
  }
  return kinds;
}

// `chosen` at every layer where (i % period) == offset.
std::vector<LayerKind> Periodic(int layers, int64_t period, int64_t offset, LayerKind chosen, LayerKind others) {
  std::vector<LayerKind> kinds(static_cast<size_t>(layers), others);
  for (int i = 0; i < layers; ++i) {
    if (i % period == offset) kinds[static_cast<size_t>(i)] = chosen;
  }
  return kinds;
}

std::vector<LayerKind> FromIndices(int layers, const nlohmann::json& indices) {
  std::vector<LayerKind> kinds(static_cast<size_t>(layers), LayerKind::kRecurrent);
  for (const nlohmann::json& index : indices) {
    const int64_t i = index.is_number_integer() ? index.get<int64_t>() : -1;
    if (i >= 0 && i < layers) kinds[static_cast<size_t>(i)] = LayerKind::kFull;
  }
  return kinds;
}

bool SlidingWindowUsed(HuggingFaceFields& fields) {
  const int64_t window = fields.Whole({"sliding_window"}, 0);
  const int64_t context = fields.Whole({"max_position_embeddings"}, 0);
  if (window == 0 || (context > 0 && window >= context)) return false;
  return fields.Flag("use_sliding_window", !fields.TypeStartsWith("qwen"));
}

// Layers of a model with attention only: some may have a window.
std::vector<LayerKind> AttentionKinds(HuggingFaceFields& fields, int layers) {
  const auto all = [layers](LayerKind kind) { return std::vector<LayerKind>(static_cast<size_t>(layers), kind); };
  if (!SlidingWindowUsed(fields)) return all(LayerKind::kFull);
  int64_t period = fields.Whole({"sliding_window_pattern", "_sliding_window_pattern"}, 0);
  if (period == 0 && fields.TypeStartsWith("gemma3")) period = 6;
  if (period == 0 && (fields.TypeStartsWith("gemma2") || fields.TypeStartsWith("gpt_oss"))) period = 2;
  if (period > 0) return Periodic(layers, period, period - 1, LayerKind::kFull, LayerKind::kSliding);
  if (!fields.TypeStartsWith("qwen")) return all(LayerKind::kSliding);
  std::vector<LayerKind> kinds = all(LayerKind::kSliding);
  const int64_t first = std::min<int64_t>(layers, fields.Whole({"max_window_layers"}, 0));
  std::fill(kinds.begin(), kinds.begin() + first, LayerKind::kFull);
  return kinds;
}

}  // namespace

std::vector<LayerKind> LayerKinds(HuggingFaceFields& fields) {
  if (const auto* pattern = fields.Find({"hybrid_override_pattern"}); pattern && pattern->is_string()) {
    return FromPattern(fields, pattern->get<std::string>());
  }
  const int layers = fields.Need({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  if (layers > kMostLayers) fields.Fail(absl::StrCat("num_hidden_layers: ", layers, " is above ", kMostLayers));
  if (!fields.status().ok()) return {};
  const nlohmann::json* names = fields.Find({"layer_types", "layers_block_type"});
  std::vector<LayerKind> kinds;
  if (names && names->is_array()) {
    kinds = FromList(fields, *names);
    if (static_cast<int>(kinds.size()) < layers) fields.Fail("layer_types: fewer entries than num_hidden_layers");
    kinds.resize(static_cast<size_t>(layers), LayerKind::kFull);
  } else if (fields.Has("attn_layer_period")) {
    const int64_t period = fields.Need({"attn_layer_period"});
    if (period > 0) {
      kinds = Periodic(layers, period, fields.Whole({"attn_layer_offset"}, 0), LayerKind::kFull, LayerKind::kRecurrent);
    }
  } else if (const auto* indices = fields.Find({"attn_layer_indices"}); indices && indices->is_array()) {
    kinds = FromIndices(layers, *indices);
  } else if (fields.Has("linear_num_value_heads")) {
    const int64_t interval = std::max<int64_t>(1, fields.Whole({"full_attention_interval"}, 4));
    kinds = Periodic(layers, interval, interval - 1, LayerKind::kFull, LayerKind::kRecurrent);
  } else if (fields.TypeStartsWith("mamba") || fields.TypeStartsWith("falcon_mamba")) {
    kinds.assign(static_cast<size_t>(layers), LayerKind::kRecurrent);
  } else {
    kinds = AttentionKinds(fields, layers);
  }
  // The last layers reuse the cache of earlier ones.
  const int64_t shared =
      std::min<int64_t>(static_cast<int64_t>(kinds.size()), fields.Whole({"num_kv_shared_layers"}, 0));
  std::fill(kinds.end() - shared, kinds.end(), LayerKind::kNone);
  return kinds;
}

}  // namespace penstock
