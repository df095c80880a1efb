#include "config/shape/hugging_face_fields.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/shape/shape_file.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

int Narrow(int64_t value) { return static_cast<int>(value); }

int QueryHeads(HuggingFaceFields& fields) { return fields.Need({"num_attention_heads", "n_head", "n_heads"}); }

int HeadDim(HuggingFaceFields& fields) {
  const int64_t given = fields.Whole({"head_dim", "attention_head_dim", "kv_channels"}, 0);
  if (given > 0) return Narrow(given);
  const int hidden = fields.Need({"hidden_size", "n_embd", "d_model"});
  const int heads = QueryHeads(fields);
  return heads > 0 ? hidden / heads : 0;
}

int KvHeads(HuggingFaceFields& fields) {
  const int64_t given = fields.Whole({"num_key_value_heads", "num_kv_heads", "multi_query_group_num"}, 0);
  // Falcon's older architecture names num_kv_heads, and means one under multi_query.
  if (fields.Flag("multi_query", false) && !fields.Flag("new_decoder_architecture", false)) return 1;
  return given > 0 ? Narrow(given) : QueryHeads(fields);
}

double StateBytes(HuggingFaceFields& fields) {
  const std::string state = fields.Text({"mamba_ssm_cache_dtype", "mamba_ssm_dtype"});
  if (!state.empty()) return state == "float32" ? 4 : 2;
  if (fields.TypeStartsWith("qwen3_5") || fields.TypeStartsWith("nemotron_h")) return 4;
  return fields.Text({"torch_dtype", "dtype"}) == "float32" ? 4 : 2;
}

LayerGroup DeltaNet(HuggingFaceFields& fields, int layers) {
  DeltaNetDimensions dimensions;
  dimensions.key_heads = fields.Need({"linear_num_key_heads"});
  dimensions.value_heads = fields.Need({"linear_num_value_heads"});
  dimensions.key_dim = fields.Need({"linear_key_head_dim"});
  dimensions.value_dim = fields.Need({"linear_value_head_dim"});
  dimensions.kernel = fields.Need({"linear_conv_kernel_dim"});
  return DeltaNetGroup(layers, dimensions, StateBytes(fields));
}

int InnerSize(HuggingFaceFields& fields) {
  // Beside mamba_expand, intermediate_size is the feed-forward layers'.
  const int64_t expand = fields.Whole({"mamba_expand"}, 0);
  if (expand > 0) return Narrow(expand) * fields.Need({"hidden_size", "d_model"});
  return fields.Need({"mamba_d_ssm", "intermediate_size"});
}

LayerGroup Mamba2(HuggingFaceFields& fields, int layers) {
  Mamba2Dimensions dimensions;
  dimensions.heads = fields.Need({"mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads"});
  const Json* head_dim = fields.Find({"mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim"});
  if (head_dim && head_dim->is_string() && dimensions.heads > 0) {
    dimensions.head_dim = InnerSize(fields) / dimensions.heads;  // "auto"
  } else {
    dimensions.head_dim = fields.Need({"mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim"});
  }
  dimensions.groups = Narrow(fields.Whole({"mamba_n_groups", "mamba_ngroups", "n_groups"}, 1));
  dimensions.state = fields.Need({"mamba_d_state", "ssm_state_size", "state_size"});
  dimensions.kernel = fields.Need({"mamba_d_conv", "conv_kernel"});
  return Mamba2Group(layers, dimensions, StateBytes(fields));
}

LayerGroup Recurrent(HuggingFaceFields& fields, int layers) {
  if (fields.Has("linear_num_value_heads")) return DeltaNet(fields, layers);
  const bool second =
      fields.model_type() == "mamba2" || fields.Find({"mamba_n_heads", "mamba_num_heads", "n_mamba_heads"}) != nullptr;
  if (second) return Mamba2(fields, layers);
  const int inner = InnerSize(fields);
  const int kernel = fields.Need({"mamba_d_conv", "conv_kernel"});
  const int state = fields.Need({"mamba_d_state", "state_size"});
  return Mamba1Group(layers, inner, kernel, state, StateBytes(fields));
}

LayerGroup Attention(HuggingFaceFields& fields, int layers, bool full) {
  // Gemma 4: layers with full attention may have heads of their own.
  const int64_t global_dim = full ? fields.Whole({"global_head_dim"}, 0) : 0;
  const bool global_heads = full && fields.Flag("attention_k_eq_v", true);
  const int64_t heads = global_heads ? fields.Whole({"num_global_key_value_heads"}, 0) : 0;
  const int dim = global_dim > 0 ? Narrow(global_dim) : HeadDim(fields);
  LayerGroup group = AttentionGroup(layers, heads > 0 ? Narrow(heads) : KvHeads(fields), dim);
  const int64_t value_dim = fields.Whole({"v_head_dim"}, 0);
  if (value_dim > 0) group.value_dim = Narrow(value_dim);
  if (!full) group.window = Tokens(fields.Need({"sliding_window", "attention_chunk_size"}));
  return group;
}

void AddGroups(HuggingFaceFields& fields, const std::vector<LayerKind>& kinds, ModelShape& shape) {
  const auto count = [&](LayerKind kind) { return Narrow(std::count(kinds.begin(), kinds.end(), kind)); };
  const int full = count(LayerKind::kFull);
  const int sliding = count(LayerKind::kSliding);
  int recurrent = count(LayerKind::kRecurrent);
  if (fields.TypeStartsWith("falcon_h1")) recurrent = full;  // Each layer runs both side by side.
  if (full > 0 && fields.Whole({"kv_lora_rank"}, 0) > 0) {
    shape.groups.push_back(LatentGroup(full, fields.Need({"kv_lora_rank"}), fields.Need({"qk_rope_head_dim"}),
                                       Narrow(fields.Whole({"index_head_dim"}, 0))));
  } else if (full > 0) {
    shape.groups.push_back(Attention(fields, full, true));
  }
  if (sliding > 0) shape.groups.push_back(Attention(fields, sliding, false));
  if (recurrent > 0) shape.groups.push_back(Recurrent(fields, recurrent));
}

// Left at zero (unknown) where the fields it needs are not there.
void AddAttentionWidth(HuggingFaceFields& fields, ModelShape& shape) {
  const double heads = static_cast<double>(fields.Whole({"num_attention_heads", "n_head", "n_heads"}, 0));
  if (heads <= 0) return;
  if (fields.Whole({"kv_lora_rank"}, 0) > 0) {
    const int64_t key = fields.Whole({"qk_nope_head_dim"}, 128) + fields.Whole({"qk_rope_head_dim"}, 64);
    shape.attention_width = heads * static_cast<double>(key + fields.Whole({"v_head_dim"}, 128)) / 2;
    return;
  }
  const int64_t hidden = fields.Whole({"hidden_size", "n_embd", "d_model"}, 0);
  const int64_t given = fields.Whole({"head_dim", "attention_head_dim", "kv_channels"}, 0);
  shape.attention_width = given > 0 ? heads * static_cast<double>(given) : static_cast<double>(hidden);
}

// Left at zero (unknown) where the fields it needs are not there.
void AddParameters(HuggingFaceFields& fields, ModelShape& shape) {
  TransformerDimensions d;
  d.layers = shape.layers;
  d.hidden = Narrow(fields.Whole({"hidden_size", "n_embd", "d_model"}, 0));
  d.query_heads = Narrow(fields.Whole({"num_attention_heads", "n_head", "n_heads"}, 0));
  d.intermediate = Narrow(fields.Whole({"intermediate_size", "n_inner", "ffn_dim"}, 0));
  d.vocabulary = fields.Whole({"vocab_size"}, 0);
  if (d.hidden == 0 || d.query_heads == 0 || d.intermediate == 0 || d.vocabulary == 0) return;
  const bool latent = fields.Whole({"kv_lora_rank"}, 0) > 0;
  d.head_dim = latent ? Narrow(fields.Whole({"v_head_dim"}, 128)) : HeadDim(fields);
  d.kv_heads = latent ? 0 : KvHeads(fields);
  d.dense_layers = Narrow(fields.Whole({"first_k_dense_replace"}, 0));
  d.experts = Narrow(fields.Whole({"num_experts", "num_local_experts", "n_routed_experts"}, 0));
  d.experts_per_token = Narrow(fields.Whole({"num_experts_per_tok", "experts_per_token", "moe_topk"}, 1));
  d.expert_intermediate = Narrow(fields.Whole({"moe_intermediate_size", "intermediate_size"}, 0));
  d.shared_intermediate = Narrow(fields.Whole({"shared_expert_intermediate_size"}, 0));
  if (d.shared_intermediate == 0) {
    d.shared_intermediate = Narrow(fields.Whole({"n_shared_experts"}, 0)) * d.expert_intermediate;
  }
  d.tied_embeddings =
      fields.Flag("tie_word_embeddings", fields.TypeStartsWith("gemma") || fields.TypeStartsWith("gpt2"));
  const ParameterCount count = CountParameters(d);
  shape.parameters = count.all;
  shape.active_parameters = d.experts > 0 ? count.active : count.all;
}

}  // namespace

HuggingFaceFields::HuggingFaceFields(const Json& document) : outer_(&document), inner_(&document) {
  for (const char* part : {"text_config", "llm_config", "language_config"}) {
    const auto found = document.find(part);
    if (found != document.end() && found->is_object()) inner_ = &*found;
  }
  model_type_ = Text({"model_type"});
}

const Json* HuggingFaceFields::Find(Names names) const {
  for (const Json* object : {inner_, outer_}) {
    for (const char* name : names) {
      const auto found = object->find(name);
      if (found != object->end() && !found->is_null()) return &*found;
    }
  }
  return nullptr;
}

int64_t HuggingFaceFields::Whole(Names names, int64_t missing) {
  const Json* value = Find(names);
  if (value && value->is_array() && !value->empty()) value = &value->front();
  if (!value) return missing;
  if (!value->is_number() || value->get<double>() < 0 || value->get<double>() > 1e9) {
    Fail(absl::StrCat(*names.begin(), ": must be a whole number of 0 to 1000000000"));
    return missing;
  }
  return value->get<int64_t>();
}

int HuggingFaceFields::Need(Names names) {
  const int64_t value = Whole(names, 0);
  if (value <= 0) Fail(absl::StrCat("missing or zero: ", absl::StrJoin(names, " or ")));
  return Narrow(value);
}

bool HuggingFaceFields::Flag(const char* name, bool missing) const {
  const Json* value = Find({name});
  return value && value->is_boolean() ? value->get<bool>() : missing;
}

std::string HuggingFaceFields::Text(Names names) const {
  const Json* value = Find(names);
  return value && value->is_string() ? value->get<std::string>() : "";
}

bool HuggingFaceFields::TypeStartsWith(absl::string_view prefix) const { return absl::StartsWith(model_type_, prefix); }

void HuggingFaceFields::Fail(const std::string& message) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("config.json: ", message));
}

absl::StatusOr<ModelShape> ShapeFromHuggingFace(absl::string_view json, absl::string_view name) {
  const Json document = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return absl::InvalidArgumentError("config.json: not a JSON object");
  HuggingFaceFields fields(document);
  ModelShape shape;
  shape.name = std::string(name);
  const std::vector<LayerKind> kinds = LayerKinds(fields);
  if (!fields.status().ok()) return fields.status();
  shape.layers = Narrow(static_cast<int64_t>(kinds.size()));
  AddGroups(fields, kinds, shape);
  if (shape.groups.empty()) fields.Fail("no layer keeps a cache");
  shape.max_context = Tokens(
      fields.Whole({"max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "max_seq_len"}, 0));
  AddParameters(fields, shape);
  AddAttentionWidth(fields, shape);
  if (!fields.status().ok()) return fields.status();
  return shape;
}

}  // namespace penstock
