#include "kvmodel/model_shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace penstock {
namespace {

Footprint Of(const std::string& name, FootprintOptions options = {}) {
  const ModelShape* shape = FindBuiltinShape(name);
  if (shape == nullptr) {
    ADD_FAILURE() << name;
    return {};
  }
  const auto footprint = FootprintOf(*shape, options);
  EXPECT_TRUE(footprint.ok()) << name << ": " << footprint.status();
  return footprint.value_or(Footprint{});
}

double All(const Footprint& footprint) { return footprint.full_per_token + footprint.windowed_per_token; }

FootprintOptions Parallel(int tensor_parallel) {
  FootprintOptions options;
  options.tensor_parallel = tensor_parallel;
  return options;
}

FootprintOptions Stored(CacheDtype dtype) {
  FootprintOptions options;
  options.dtype = dtype;
  return options;
}

struct TableRow {
  const char* name;
  int layers;
  double all;       // Bytes per token with every layer as full attention.
  int64_t per_gib;  // Tokens, of growth for hybrids.
  double growth;
  double windowed_mib;  // At most, without the block of misalignment.
};

class WorkedTable : public testing::TestWithParam<TableRow> {};

TEST_P(WorkedTable, BytesPerTokenMatch) {
  const TableRow& row = GetParam();
  const Footprint footprint = Of(row.name);
  EXPECT_EQ(FindBuiltinShape(row.name)->layers, row.layers);
  EXPECT_EQ(All(footprint), row.all);
  EXPECT_EQ(footprint.full_per_token, row.growth);
  EXPECT_EQ(footprint.windowed_per_token * footprint.window.AsDouble() / (1 << 20), row.windowed_mib);
  if (row.per_gib > 0) {
    const double per_token = row.growth > 0 ? row.growth : row.all;
    EXPECT_EQ(static_cast<int64_t>(std::floor((1 << 30) / per_token)), row.per_gib);
  }
}

TEST_P(WorkedTable, Fp8HalvesEveryNumber) {
  const TableRow& row = GetParam();
  EXPECT_EQ(All(Of(row.name, Stored(CacheDtype::kFp8))), row.all / 2);
}

INSTANTIATE_TEST_SUITE_P(
    ModelShape, WorkedTable,
    testing::Values(
        TableRow{"TinyLlama-1.1B", 22, 22528, 47662, 22528, 0}, TableRow{"Llama-3.2-1B", 16, 32768, 32768, 32768, 0},
        TableRow{"Llama-3.2-3B", 28, 114688, 9362, 114688, 0}, TableRow{"Llama-3.1-8B", 32, 131072, 8192, 131072, 0},
        TableRow{"Llama-3.1-70B", 80, 327680, 3276, 327680, 0}, TableRow{"Llama-3.3-70B", 80, 327680, 3276, 327680, 0},
        TableRow{"Llama-3.1-405B", 126, 516096, 2080, 516096, 0}, TableRow{"Qwen2.5-0.5B", 24, 12288, 87381, 12288, 0},
        TableRow{"Qwen2.5-7B", 28, 57344, 18724, 57344, 0}, TableRow{"Qwen2.5-14B", 48, 196608, 5461, 196608, 0},
        TableRow{"Qwen2.5-32B", 64, 262144, 4096, 262144, 0}, TableRow{"Qwen3-32B", 64, 262144, 4096, 262144, 0},
        TableRow{"Qwen2.5-72B", 80, 327680, 3276, 327680, 0}, TableRow{"Qwen3-0.6B", 28, 114688, 9362, 114688, 0},
        TableRow{"Qwen3-8B", 36, 147456, 7281, 147456, 0}, TableRow{"Qwen3-30B-A3B", 48, 98304, 10922, 98304, 0},
        TableRow{"Qwen3-235B-A22B", 94, 192512, 5577, 192512, 0},
        TableRow{"Mistral-7B-v0.3", 32, 131072, 8192, 131072, 0}, TableRow{"Mistral-7B-v0.1", 32, 131072, 8192, 0, 512},
        TableRow{"Mixtral-8x7B", 32, 131072, 8192, 131072, 0},
        TableRow{"Mistral-Small-24B", 40, 163840, 6553, 163840, 0},
        TableRow{"Gemma-2-9B", 42, 344064, 6241, 172032, 672}, TableRow{"Gemma-3-27B", 62, 507904, 13107, 81920, 416},
        TableRow{"Phi-3-mini", 32, 393216, 2730, 393216, 0}, TableRow{"Phi-4", 40, 204800, 5242, 204800, 0},
        TableRow{"DeepSeek-V3", 61, 70272, 15279, 70272, 0}, TableRow{"DeepSeek-R1", 61, 70272, 15279, 70272, 0},
        TableRow{"gpt-oss-20b", 24, 49152, 43690, 24576, 3}, TableRow{"gpt-oss-120b", 36, 73728, 29127, 36864, 4.5},
        TableRow{"Qwen3-Next-80B-A3B", 48, 24576, 43690, 24576, 0}, TableRow{"Qwen3.5-27B", 64, 65536, 16384, 65536, 0},
        // Models of the cost model beyond the worked table.
        TableRow{"Llama-2-7B", 32, 524288, 2048, 524288, 0}, TableRow{"Llama-2-13B", 40, 819200, 1310, 819200, 0},
        TableRow{"Llama-2-70B", 80, 327680, 3276, 327680, 0}),
    [](const auto& tested) {
      std::string name;
      for (const char c : std::string(tested.param.name)) {
        if (std::isalnum(static_cast<unsigned char>(c))) name += c;
      }
      return name;
    });

TEST(ModelShape, WeightsMatchTheCostModel) {
  const auto gigabytes = [](const char* name, double bytes) {
    return FindBuiltinShape(name)->Weights(bytes).AsDouble() / 1e9;
  };
  EXPECT_NEAR(gigabytes("qwen2.5-7b", 2), 15.2, 0.06);
  EXPECT_NEAR(gigabytes("llama-2-7b", 2), 13.5, 0.06);
  EXPECT_NEAR(gigabytes("llama-3.1-8b", 2), 16.1, 0.06);
  EXPECT_NEAR(gigabytes("mistral-7b", 2), 14.5, 0.06);
  EXPECT_NEAR(gigabytes("llama-2-13b", 1), 13.0, 0.06);
  EXPECT_NEAR(gigabytes("qwen3-32b", 2), 65.5, 0.2);
  EXPECT_NEAR(gigabytes("mixtral-8x7b", 2), 93.4, 0.06);
  EXPECT_NEAR(gigabytes("llama-3.1-70b", 2), 141, 0.3);
  EXPECT_NEAR(gigabytes("llama-3.1-405b", 1), 406, 0.3);
}

TEST(ModelShape, KvHeadsAreSplitAndThenReplicated) {
  EXPECT_EQ(All(Of("llama-3.1-70b", Parallel(4))), 81920);
  EXPECT_EQ(All(Of("llama-3.1-70b", Parallel(8))), 40960);
  EXPECT_EQ(All(Of("llama-3.1-70b", Parallel(16))), 40960);
  EXPECT_EQ(All(Of("qwen2.5-7b", Parallel(2))), 28672);
  EXPECT_EQ(All(Of("qwen2.5-7b", Parallel(4))), 14336);
  EXPECT_EQ(All(Of("qwen3-235b-a22b", Parallel(8))), 48128);
}

TEST(ModelShape, LatentCachesAreKeptWholeOnEveryGpu) {
  EXPECT_EQ(All(Of("deepseek-v3", Parallel(8))), 70272);
  EXPECT_EQ(All(Of("deepseek-v3", Stored(CacheDtype::kFp8DsMla))), 40016);
}

TEST(ModelShape, TheSparseIndexerAddsBytesThatNoDtypeHalves) {
  EXPECT_EQ(All(Of("deepseek-v3.2")), 70272 + 61 * 132);
  EXPECT_EQ(All(Of("deepseek-v3.2", Stored(CacheDtype::kFp8))), 35136 + 61 * 132);
}

TEST(ModelShape, ADraftLayerCostsWhatItsFamilyCosts) {
  EXPECT_EQ(BytesPerTokenAndLayer(LatentGroup(1, 512, 64), CacheDtype::kBf16), 1152);
}

TEST(ModelShape, TenKvHeadsAllowOnlyTheirDivisorsAndMultiples) {
  const ModelShape& phi = *FindBuiltinShape("phi-4");
  for (const int good : {1, 2, 5, 10}) EXPECT_TRUE(FootprintOf(phi, Parallel(good)).ok()) << good;
  for (const int bad : {3, 4, 8}) {
    const auto status = FootprintOf(phi, Parallel(bad)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find("10 KV heads"), absl::string_view::npos) << status;
  }
}

TEST(ModelShape, SenselessOptionsAreErrors) {
  const ModelShape& shape = *FindBuiltinShape("llama-3.1-8b");
  FootprintOptions options;
  options.pipeline_parallel = 33;
  EXPECT_FALSE(FootprintOf(shape, options).ok());
  options.pipeline_parallel = 0;
  EXPECT_FALSE(FootprintOf(shape, options).ok());
  EXPECT_FALSE(FootprintOf(shape, Parallel(0)).ok());
  options = {};
  options.block = Tokens(0);
  EXPECT_FALSE(FootprintOf(shape, options).ok());
  EXPECT_FALSE(FootprintOf(ModelShape{}, {}).ok());
  ModelShape headless = shape;
  headless.groups[0].kv_heads = 0;
  EXPECT_FALSE(FootprintOf(headless, {}).ok());
}

TEST(ModelShape, PipelineStagesTakeTheirRoundedUpShareOfTheLayers) {
  FootprintOptions options;
  options.pipeline_parallel = 4;
  EXPECT_EQ(All(Of("llama-3.1-70b", options)), 327680 / 4);
  options.pipeline_parallel = 3;
  EXPECT_EQ(All(Of("llama-3.1-70b", options)), 27 * 4096);
}

TEST(ModelShape, WindowedLayersAreCappedAndFullOnesAreNot) {
  const Footprint gemma = Of("gemma-3-27b");
  EXPECT_EQ(gemma.window, Tokens(1024));
  // 16,000 tokens in full layers, 1024 tokens and one block in sliding ones.
  EXPECT_EQ(gemma.Of(Tokens(16'000)), Amount(int64_t{16'000} * 81'920 + int64_t{1040} * 425'984));
}

TEST(ModelShape, GatedDeltaNetKeepsItsStatePerSequence) {
  constexpr double kMib = 1 << 20;
  EXPECT_EQ(Of("qwen3-next-80b-a3b").constant / kMib, 37.6875);
  DeltaNetDimensions dimensions;
  dimensions.key_heads = 16;
  dimensions.value_heads = 32;
  dimensions.key_dim = 128;
  dimensions.value_dim = 128;
  EXPECT_EQ(36 * StateBytesPerLayer(DeltaNetGroup(36, dimensions, 4)) / kMib, 73.6875);
  // (2 x 16 x 128 + 48 x 128) x 3 x 2 + 48 x 128 x 128 x 4 bytes in 48 layers.
  EXPECT_EQ(Of("qwen3.5-27b").constant, 48.0 * (10240 * 3 * 2 + 786432 * 4));
  EXPECT_EQ(Of("qwen3.5-27b", Parallel(2)).constant, 24.0 * (10240 * 3 * 2 + 786432 * 4));
}

TEST(ModelShape, MambaKeepsConvolutionAndState) {
  // Mamba 1: inner 8192, kernel 4, state 16.
  EXPECT_EQ(StateBytesPerLayer(Mamba1Group(1, 8192, 4, 16)), 8192 * 3 * 2 + 8192 * 16 * 2);
  EXPECT_EQ(StateBytesPerLayer(Mamba1Group(1, 8192, 4, 16, 4)), 8192 * 3 * 2 + 8192 * 16 * 4);
  Mamba2Dimensions dimensions;
  dimensions.heads = 128;
  dimensions.head_dim = 64;
  dimensions.groups = 8;
  dimensions.state = 128;
  EXPECT_EQ(StateBytesPerLayer(Mamba2Group(1, dimensions)), (8192 + 2 * 8 * 128) * 3 * 2 + 8192 * 128 * 2);
  EXPECT_EQ(BytesPerTokenAndLayer(Mamba2Group(1, dimensions), CacheDtype::kBf16), 0);
}

TEST(ModelShape, AHybridAddsItsFamilies) {
  ModelShape hybrid;
  hybrid.groups = {AttentionGroup(4, 8, 128), AttentionGroup(4, 8, 128, Tokens(512)), Mamba1Group(24, 8192, 4, 16)};
  const auto footprint = FootprintOf(hybrid, {});
  ASSERT_TRUE(footprint.ok());
  EXPECT_EQ(footprint->full_per_token, 4 * 4096);
  EXPECT_EQ(footprint->windowed_per_token, 4 * 4096);
  EXPECT_EQ(footprint->window, Tokens(512));
  EXPECT_EQ(footprint->constant, 24 * (8192 * 3 * 2 + 8192 * 16 * 2));
}

TEST(ModelShape, CacheTypesHaveTheirEnginesSizes) {
  EXPECT_EQ(BytesPerElement(CacheDtype::kFp16), 2);
  EXPECT_EQ(BytesPerElement(CacheDtype::kFp32), 4);
  EXPECT_EQ(BytesPerElement(CacheDtype::kQ8_0), 1.0625);
  EXPECT_EQ(BytesPerElement(CacheDtype::kQ4_0), 0.5625);
  EXPECT_EQ(BytesPerElement(CacheDtype::kQ5_0), 0.6875);
  EXPECT_EQ(BytesPerElement(CacheDtype::kQ5_1), 0.75);
  EXPECT_EQ(BytesPerElement(CacheDtype::kQ4_1), 0.625);
}

TEST(CountParameters, MatchesPublishedModels) {
  TransformerDimensions llama;
  llama.layers = 32;
  llama.hidden = 4096;
  llama.query_heads = 32;
  llama.kv_heads = 8;
  llama.head_dim = 128;
  llama.intermediate = 14336;
  llama.vocabulary = 128256;
  EXPECT_NEAR(CountParameters(llama).all / 1e9, 8.03, 0.01);

  TransformerDimensions mixtral = llama;
  mixtral.vocabulary = 32000;
  mixtral.intermediate = 0;
  mixtral.experts = 8;
  mixtral.experts_per_token = 2;
  mixtral.expert_intermediate = 14336;
  EXPECT_NEAR(CountParameters(mixtral).all / 1e9, 46.7, 0.05);
  EXPECT_NEAR(CountParameters(mixtral).active / 1e9, 12.8, 0.15);

  TransformerDimensions tied = llama;
  tied.layers = 16;
  tied.hidden = 2048;
  tied.head_dim = 64;
  tied.intermediate = 8192;
  tied.tied_embeddings = true;
  EXPECT_NEAR(CountParameters(tied).all / 1e9, 1.24, 0.01);
}

}  // namespace
}  // namespace penstock
