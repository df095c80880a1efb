#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "config/shape/shape_file.h"
#include "kvmodel/footprint.h"
#include "kvmodel/model_shape.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

Footprint FootprintIn(const char* json, CacheDtype dtype = CacheDtype::kBf16, int tensor_parallel = 1) {
  const absl::StatusOr<ModelShape> shape = ShapeFromHuggingFace(json, "model");
  EXPECT_TRUE(shape.ok()) << shape.status();
  if (!shape.ok()) return Footprint{};
  FootprintOptions options;
  options.dtype = dtype;
  options.tensor_parallel = tensor_parallel;
  options.block = Tokens(1);
  const absl::StatusOr<Footprint> footprint = FootprintOf(*shape, options);
  EXPECT_TRUE(footprint.ok()) << footprint.status();
  return footprint.value_or(Footprint{});
}

std::string ErrorOf(const char* json) { return std::string(ShapeFromHuggingFace(json, "model").status().message()); }

// A row of the worked table: the fields of the model's own config.json that matter here.
struct Row {
  const char* name;
  const char* json;
  double all;       // Bytes per token while no window is full.
  double growth;    // Bytes per further token once windows are full.
  double billions;  // Published parameters; 0: not compared.
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class WorkedTable : public ::testing::TestWithParam<Row> {};

TEST_P(WorkedTable, BytesPerTokenAndParametersAreThoseOfTheModel) {
  const Row& row = GetParam();
  const Footprint footprint = FootprintIn(row.json);
  EXPECT_DOUBLE_EQ(footprint.full_per_token + footprint.windowed_per_token, row.all);
  EXPECT_DOUBLE_EQ(footprint.full_per_token, row.growth);
  if (row.billions == 0) return;
  const ModelShape shape = *ShapeFromHuggingFace(row.json, "model");
  EXPECT_NEAR(shape.parameters / 1e9, row.billions, row.billions * 0.03);
}

TEST_P(WorkedTable, TheWidthOfAttentionIsThatOfTheBuiltInShape) {
  const ModelShape* builtin = FindBuiltinShape(GetParam().name);
  if (builtin == nullptr) return;  // A model that is known by its file only.
  EXPECT_EQ(ShapeFromHuggingFace(GetParam().json, "model")->attention_width, builtin->attention_width);
}

TEST_P(WorkedTable, EightBitCachesHalveEveryNumber) {
  const Footprint half = FootprintIn(GetParam().json, CacheDtype::kFp8);
  EXPECT_DOUBLE_EQ(half.full_per_token * 2, GetParam().growth);
}

constexpr Row kRows[] = {
    {"tinyllama", R"({"model_type":"llama","hidden_size":2048,"intermediate_size":5632,"num_attention_heads":32,
      "num_hidden_layers":22,"num_key_value_heads":4,"vocab_size":32000,"tie_word_embeddings":false,
      "max_position_embeddings":2048,"torch_dtype":"bfloat16"})",
     22528, 22528, 1.1},
    {"llama-3.2-1b", R"({"model_type":"llama","head_dim":64,"hidden_size":2048,"intermediate_size":8192,
      "num_attention_heads":32,"num_hidden_layers":16,"num_key_value_heads":8,"vocab_size":128256,
      "tie_word_embeddings":true})",
     32768, 32768, 1.24},
    {"llama-3.2-3b", R"({"model_type":"llama","head_dim":128,"hidden_size":3072,"intermediate_size":8192,
      "num_attention_heads":24,"num_hidden_layers":28,"num_key_value_heads":8,"vocab_size":128256,
      "tie_word_embeddings":true})",
     114688, 114688, 3.21},
    {"llama-3.1-8b", R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
      "num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false})",
     131072, 131072, 8.03},
    {"llama-3.1-70b", R"({"model_type":"llama","hidden_size":8192,"intermediate_size":28672,"num_attention_heads":64,
      "num_hidden_layers":80,"num_key_value_heads":8,"vocab_size":128256})",
     327680, 327680, 70.6},
    {"llama-3.1-405b", R"({"model_type":"llama","hidden_size":16384,"intermediate_size":53248,
      "num_attention_heads":128,"num_hidden_layers":126,"num_key_value_heads":8,"vocab_size":128256})",
     516096, 516096, 405.9},
    {"qwen2.5-0.5b", R"({"model_type":"qwen2","hidden_size":896,"intermediate_size":4864,"num_attention_heads":14,
      "num_hidden_layers":24,"num_key_value_heads":2,"vocab_size":151936,"tie_word_embeddings":true,
      "sliding_window":32768,"max_window_layers":21,"use_sliding_window":false,"max_position_embeddings":32768})",
     12288, 12288, 0.49},
    {"qwen2.5-7b", R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_attention_heads":28,
      "num_hidden_layers":28,"num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false,
      "sliding_window":131072,"max_window_layers":28,"use_sliding_window":false})",
     57344, 57344, 7.62},
    {"qwen2.5-14b", R"({"model_type":"qwen2","hidden_size":5120,"intermediate_size":13824,"num_attention_heads":40,
      "num_hidden_layers":48,"num_key_value_heads":8,"vocab_size":152064})",
     196608, 196608, 14.8},
    {"qwen2.5-32b", R"({"model_type":"qwen2","hidden_size":5120,"intermediate_size":27648,"num_attention_heads":40,
      "num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":152064})",
     262144, 262144, 32.8},
    {"qwen2.5-72b", R"({"model_type":"qwen2","hidden_size":8192,"intermediate_size":29568,"num_attention_heads":64,
      "num_hidden_layers":80,"num_key_value_heads":8,"vocab_size":152064})",
     327680, 327680, 72.7},
    {"qwen3-0.6b", R"({"model_type":"qwen3","head_dim":128,"hidden_size":1024,"intermediate_size":3072,
      "num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,"vocab_size":151936,
      "tie_word_embeddings":true,"sliding_window":null,"use_sliding_window":false})",
     114688, 114688, 0.6},
    {"qwen3-8b", R"({"model_type":"qwen3","head_dim":128,"hidden_size":4096,"intermediate_size":12288,
      "num_attention_heads":32,"num_hidden_layers":36,"num_key_value_heads":8,"vocab_size":151936,
      "tie_word_embeddings":false})",
     147456, 147456, 8.19},
    {"qwen3-32b", R"({"model_type":"qwen3","head_dim":128,"hidden_size":5120,"intermediate_size":25600,
      "num_attention_heads":64,"num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":151936})",
     262144, 262144, 32.8},
    {"qwen3-30b-a3b", R"({"model_type":"qwen3_moe","head_dim":128,"hidden_size":2048,"intermediate_size":6144,
      "moe_intermediate_size":768,"num_attention_heads":32,"num_hidden_layers":48,"num_key_value_heads":4,
      "num_experts":128,"num_experts_per_tok":8,"vocab_size":151936})",
     98304, 98304, 30.5},
    {"qwen3-235b-a22b", R"({"model_type":"qwen3_moe","head_dim":128,"hidden_size":4096,"intermediate_size":12288,
      "moe_intermediate_size":1536,"num_attention_heads":64,"num_hidden_layers":94,"num_key_value_heads":4,
      "num_experts":128,"num_experts_per_tok":8,"vocab_size":151936})",
     192512, 192512, 235},
    {"mistral-7b-v0.3", R"({"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,
      "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":32768,
      "sliding_window":null,"max_position_embeddings":32768})",
     131072, 131072, 7.25},
    {"mistral-7b-v0.1", R"({"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,
      "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":32000,
      "sliding_window":4096,"max_position_embeddings":32768})",
     131072, 0, 7.24},
    {"mixtral-8x7b", R"({"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
      "num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,
      "vocab_size":32000,"sliding_window":null,"head_dim":null})",
     131072, 131072, 46.7},
    {"mistral-small-24b", R"({"model_type":"mistral","head_dim":128,"hidden_size":5120,"intermediate_size":32768,
      "num_attention_heads":32,"num_hidden_layers":40,"num_key_value_heads":8,"vocab_size":131072})",
     163840, 163840, 23.6},
    {"gemma-2-9b", R"({"model_type":"gemma2","head_dim":256,"hidden_size":3584,"intermediate_size":14336,
      "num_attention_heads":16,"num_hidden_layers":42,"num_key_value_heads":8,"sliding_window":4096,
      "vocab_size":256000,"max_position_embeddings":8192})",
     344064, 172032, 9.24},
    {"gemma-3-27b", R"({"model_type":"gemma3","vision_config":{"num_hidden_layers":27,"hidden_size":1152},
      "text_config":{"model_type":"gemma3_text","head_dim":128,"hidden_size":5376,"intermediate_size":21504,
      "num_attention_heads":32,"num_hidden_layers":62,"num_key_value_heads":16,"sliding_window":1024,
      "vocab_size":262208}})",
     507904, 81920, 27.4},
    {"phi-3-mini-128k", R"({"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_attention_heads":32,
      "num_hidden_layers":32,"num_key_value_heads":32,"sliding_window":262144,"max_position_embeddings":131072,
      "vocab_size":32064,"tie_word_embeddings":false})",
     393216, 393216, 3.82},
    {"phi-3-mini-4k", R"({"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_attention_heads":32,
      "num_hidden_layers":32,"num_key_value_heads":32,"sliding_window":2047,"max_position_embeddings":4096,
      "vocab_size":32064})",
     393216, 0, 3.82},
    {"phi-4", R"({"model_type":"phi3","hidden_size":5120,"intermediate_size":17920,"num_attention_heads":40,
      "num_hidden_layers":40,"num_key_value_heads":10,"sliding_window":null,"vocab_size":100352})",
     204800, 204800, 14.7},
    {"gpt-oss-20b", R"({"model_type":"gpt_oss","head_dim":64,"hidden_size":2880,"intermediate_size":2880,
      "num_attention_heads":64,"num_hidden_layers":24,"num_key_value_heads":8,"sliding_window":128,
      "num_local_experts":32,"num_experts_per_tok":4,"vocab_size":201088,"layer_types":["sliding_attention",
      "full_attention","sliding_attention","full_attention","sliding_attention","full_attention",
      "sliding_attention","full_attention","sliding_attention","full_attention","sliding_attention",
      "full_attention","sliding_attention","full_attention","sliding_attention","full_attention",
      "sliding_attention","full_attention","sliding_attention","full_attention","sliding_attention",
      "full_attention","sliding_attention","full_attention"]})",
     49152, 24576, 20.9},
    {"gpt-oss-120b", R"({"model_type":"gpt_oss","head_dim":64,"hidden_size":2880,"intermediate_size":2880,
      "num_attention_heads":64,"num_hidden_layers":36,"num_key_value_heads":8,"sliding_window":128,
      "num_local_experts":128,"num_experts_per_tok":4,"vocab_size":201088})",
     73728, 36864, 116.8},
    {"deepseek-v3", R"({"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,
      "moe_intermediate_size":2048,"num_attention_heads":128,"num_hidden_layers":61,"num_key_value_heads":128,
      "kv_lora_rank":512,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":256,"n_shared_experts":1,
      "num_experts_per_tok":8,"first_k_dense_replace":3,"vocab_size":129280})",
     70272, 70272, 671},
    {"qwen3-next-80b-a3b", R"({"model_type":"qwen3_next","head_dim":256,"hidden_size":2048,"intermediate_size":5120,
      "moe_intermediate_size":512,"shared_expert_intermediate_size":512,"num_attention_heads":16,
      "num_hidden_layers":48,"num_key_value_heads":2,"num_experts":512,"num_experts_per_tok":10,
      "full_attention_interval":4,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
      "linear_num_value_heads":32,"linear_value_head_dim":128,"vocab_size":151936,"dtype":"bfloat16"})",
     24576, 24576, 80},
    {"qwen3.5-27b", R"({"model_type":"qwen3_5","text_config":{"model_type":"qwen3_5_text","head_dim":256,
      "hidden_size":5120,"num_attention_heads":24,"num_hidden_layers":64,"num_key_value_heads":4,
      "full_attention_interval":4,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
      "linear_num_value_heads":48,"linear_value_head_dim":128,"mamba_ssm_dtype":"float32"}})",
     65536, 65536, 0},
};
INSTANTIATE_TEST_SUITE_P(Models, WorkedTable, ::testing::ValuesIn(kRows));

TEST(HuggingFace, WindowedLayersStopAtTheirWindow) {
  const Footprint gemma2 = FootprintIn(kRows[20].json);
  ASSERT_EQ(std::string(kRows[20].name), "gemma-2-9b");
  EXPECT_EQ(gemma2.window, Tokens(4096));
  EXPECT_NEAR(gemma2.windowed_per_token * 4096 / (1 << 20), 672, 0.5);
}

TEST(HuggingFace, TheSparseIndexerAdds132BytesPerLayer) {
  const Footprint footprint = FootprintIn(R"({"model_type":"deepseek_v32","num_hidden_layers":61,
      "num_attention_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64,"index_head_dim":128})");
  EXPECT_DOUBLE_EQ(footprint.full_per_token, 70272 + 61 * 132);
}

TEST(HuggingFace, LatentCachesAreNotSplitByTensorParallelism) {
  const char* json = R"({"num_hidden_layers":61,"num_attention_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64})";
  EXPECT_DOUBLE_EQ(FootprintIn(json, CacheDtype::kBf16, 8).full_per_token, 70272);
}

TEST(HuggingFace, GatedDeltaNetKeepsAConstantState) {
  const std::string bf16 = kRows[28].json;
  ASSERT_EQ(std::string(kRows[28].name), "qwen3-next-80b-a3b");
  EXPECT_NEAR(FootprintIn(bf16.c_str()).constant / (1 << 20), 37.7, 0.05);
  std::string fp32 = bf16;
  fp32.insert(1, R"("mamba_ssm_dtype":"float32",)");
  EXPECT_NEAR(FootprintIn(fp32.c_str()).constant / (1 << 20), 73.7, 0.05);
}

TEST(HuggingFace, MambaModelsKeepOnlyState) {
  const Footprint one = FootprintIn(R"({"model_type":"mamba","hidden_size":2560,"intermediate_size":5120,
      "num_hidden_layers":64,"state_size":16,"conv_kernel":4,"expand":2})");
  EXPECT_DOUBLE_EQ(one.full_per_token, 0);
  EXPECT_DOUBLE_EQ(one.constant, 64.0 * 5120 * (3 + 16) * 2);
  const Footprint two = FootprintIn(R"({"model_type":"mamba2","hidden_size":4096,"num_hidden_layers":64,
      "num_heads":128,"head_dim":64,"n_groups":8,"state_size":128,"conv_kernel":4})");
  EXPECT_DOUBLE_EQ(two.constant, 64.0 * ((8192 + 2 * 8 * 128) * 3 + 8192 * 128) * 2);
}

TEST(HuggingFace, JambaKeepsAttentionInOneLayerOfEight) {
  const Footprint footprint = FootprintIn(R"({"model_type":"jamba","hidden_size":4096,"intermediate_size":14336,
      "num_attention_heads":32,"num_key_value_heads":8,"num_hidden_layers":32,"attn_layer_period":8,
      "attn_layer_offset":4,"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2})");
  EXPECT_DOUBLE_EQ(footprint.full_per_token, 4 * 4096);
  EXPECT_DOUBLE_EQ(footprint.constant, 28.0 * 8192 * (3 + 16) * 2);
}

TEST(HuggingFace, NemotronPatternsNameEveryLayer) {
  const Footprint footprint = FootprintIn(R"({"model_type":"nemotron_h","hidden_size":4096,"num_attention_heads":32,
      "num_key_value_heads":8,"attention_head_dim":128,"num_hidden_layers":52,"mamba_num_heads":128,
      "mamba_head_dim":64,"n_groups":8,"ssm_state_size":128,"conv_kernel":4,
      "hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"})");
  EXPECT_DOUBLE_EQ(footprint.full_per_token, 4 * 4096);
  EXPECT_DOUBLE_EQ(footprint.constant, 24.0 * ((8192 + 2 * 8 * 128) * 3 * 2 + 8192.0 * 128 * 4));
}

TEST(HuggingFace, GlobalLayersMayHaveHeadsOfTheirOwnAndTheLastLayersMayShare) {
  const Footprint footprint = FootprintIn(R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text",
      "num_hidden_layers":12,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,"global_head_dim":512,
      "num_global_key_value_heads":1,"attention_k_eq_v":true,"sliding_window":512,"num_kv_shared_layers":2,
      "layer_types":["sliding_attention","sliding_attention","sliding_attention","sliding_attention",
      "sliding_attention","full_attention","sliding_attention","sliding_attention","sliding_attention",
      "sliding_attention","sliding_attention","full_attention"]}})");
  EXPECT_DOUBLE_EQ(footprint.full_per_token, 1 * 2 * 512 * 2);
  EXPECT_DOUBLE_EQ(footprint.windowed_per_token, 9 * 4 * 2 * 256 * 2);
}

TEST(HuggingFace, MultiQueryModelsKeepOneHead) {
  EXPECT_DOUBLE_EQ(FootprintIn(R"({"model_type":"gpt_bigcode","n_layer":24,"n_head":16,"n_embd":2048,
      "multi_query":true})")
                       .full_per_token,
                   24 * 2 * 128 * 2);
}

TEST(HuggingFace, Qwen2WithItsWindowSwitchedOnSlidesInTheUpperLayers) {
  const Footprint footprint = FootprintIn(R"({"model_type":"qwen2","hidden_size":3584,"num_attention_heads":28,
      "num_hidden_layers":28,"num_key_value_heads":4,"sliding_window":4096,"max_window_layers":20,
      "use_sliding_window":true})");
  EXPECT_DOUBLE_EQ(footprint.full_per_token, 20 * 2048);
  EXPECT_DOUBLE_EQ(footprint.windowed_per_token, 8 * 2048);
}

TEST(HuggingFace, AMissingFieldIsNamed) {
  EXPECT_THAT(ErrorOf(R"({"num_attention_heads":32,"hidden_size":4096})"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers":32,"hidden_size":4096})"), HasSubstr("num_attention_heads"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers":32,"num_attention_heads":32})"), HasSubstr("hidden_size"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers":61,"kv_lora_rank":512})"), HasSubstr("qk_rope_head_dim"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers":4,"num_attention_heads":8,"head_dim":64,"linear_num_value_heads":8})"),
              HasSubstr("linear_num_key_heads"));
}

TEST(HuggingFace, NonsenseIsAnErrorAndNeverACrash) {
  for (const char* json :
       {"", "{", "[]", "null", "3", "{}", R"({"num_hidden_layers":-1})",
        R"({"num_hidden_layers":1e300,"num_attention_heads":1,"head_dim":1})",
        R"({"num_hidden_layers":"32","num_attention_heads":32,"head_dim":128})",
        R"({"num_hidden_layers":500000,"num_attention_heads":1,"head_dim":1})",
        R"({"num_hidden_layers":2,"layer_types":["odd","odd"],"num_attention_heads":1,"head_dim":1})",
        R"({"num_hidden_layers":2,"layer_types":[1,2],"num_attention_heads":1,"head_dim":1})",
        R"({"hybrid_override_pattern":"---"})", R"({"text_config":{}})"}) {
    EXPECT_FALSE(ShapeFromHuggingFace(json, "model").ok()) << json;
  }
}

}  // namespace
}  // namespace penstock
