#include "config/values/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config TwoOnOneGpu(const std::string& first, const std::string& second) {
  return Parsed("gpus: [{id: g, kind: a100-80}]\nreplicas:\n  - {id: a, gpus: [g], model: llama-3.1-8b, simulated: {}" +
                first + "}\n  - {id: b, gpus: [g], model: llama-3.1-8b, simulated: {}" + second + "}\n");
}

TEST(Capacity, KvMemoryIsWholeBlocksOfTokens) {
  const Config config = TwoOnOneGpu(", kv_memory: 18GB", ", kv_tokens: 1003");
  EXPECT_EQ(SimulatedKvTokens(config, config.replicas[0]), Tokens(18'000'000'000 / 131072 / 16 * 16));
  EXPECT_EQ(SimulatedKvTokens(config, config.replicas[1]), Tokens(992));
}

TEST(Capacity, AnEngineWithRanksLoadsNoAdapter) {
  const auto warnings = [](const std::string& simulated) {
    return Warnings(
        Parsed("models: [{name: m, shape: llama-3.1-8b, aliases: [n]}, {name: o, shape: qwen2.5-7b}]\n"
               "gpus: [{id: g, kind: h100}, {id: h, kind: h100}, {id: i, kind: h100}]\n"
               "adapters: [{name: sql, path: /a, model: n}]\n"
               "replicas:\n  - {id: a, gpus: [g, h], model: m, simulated: " +
               simulated + "}\n  - {id: b, gpus: [i], model: o, simulated: {}}\n"));
  };
  EXPECT_THAT(warnings("{}"), IsEmpty());
  EXPECT_THAT(warnings("{ranks: 2}"), ElementsAre(HasSubstr("replicas: a: the adapter sql is not loaded")));
}

TEST(Capacity, ReplicasWithoutASizeShareWhatIsLeftOfTheirGpu) {
  const Config both = TwoOnOneGpu("", "");
  const double left = 0.92 * 80e9 - 2 * 16.06e9 - 2 * 4e9;
  EXPECT_NEAR(DefaultKvPerGpu(both, both.replicas[0])->AsDouble(), left / 2, 1);
  const Config one = TwoOnOneGpu(", kv_memory: 18GB", "");
  EXPECT_NEAR(DefaultKvPerGpu(one, one.replicas[1])->AsDouble(), left - 18e9, 1);
}

TEST(Capacity, TheHostHoldsTokensOfAllGpusAndLoadsThemOnEach) {
  const Config one = TwoOnOneGpu(", host_cache: {memory: 13.1072GB, bandwidth: 10GB/s}", "");
  const auto host = HostCacheOf(one, one.replicas[0], "llama-3.1-8b");
  ASSERT_TRUE(host);
  EXPECT_NEAR(host->tokens.AsDouble(), 100'000, 200) << "a prompt's last block is half empty";
  EXPECT_NEAR(host->seconds, 131072 / 10e9, 1e-7);
  EXPECT_FALSE(HostCacheOf(one, one.replicas[1], "llama-3.1-8b"));
  Config two = one;
  two.replicas[0].gpus = {"g", "h"};
  two.replicas[0].tensor_parallel = 2;
  const auto halves = HostCacheOf(two, two.replicas[0], "llama-3.1-8b");
  EXPECT_EQ(halves->tokens, host->tokens);
  EXPECT_NEAR(halves->seconds, host->seconds / 2, 1e-9) << "each GPU loads its half";
  EXPECT_FALSE(HostCacheOf(one, one.replicas[0], "unheard-of")) << "nobody knows the bytes of a token";
}

TEST(Capacity, ServedContextIsTheSmallerOfTheModelsAndTheCache) {
  const Config config = TwoOnOneGpu(", kv_memory: 18GB", ", kv_tokens: 8k");
  EXPECT_EQ(SimulatedContext(config, config.replicas[0], Tokens(137328)), Tokens(131072));
  EXPECT_EQ(SimulatedContext(config, config.replicas[1], Tokens(8000)), Tokens(8000));
}

TEST(Capacity, TokensOfWindowedModelsStandForSequencesOfTheLongestContext) {
  Footprint footprint{100, 50, Tokens(160), 0, Tokens(16), Tokens(1)};
  const Amount one = footprint.Of(Tokens(1600));
  EXPECT_EQ(AmountOfTokens(footprint, Tokens(3200), Tokens(1600)), one * 2);
  EXPECT_EQ(AmountOfTokens(Footprint{100, 0, Tokens(0), 0, Tokens(16), Tokens(1)}, Tokens(3200), Tokens(0)),
            Amount(320'000));
}

}  // namespace
}  // namespace penstock
