#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Print, SecretsAreStars) {
  const Config config = Parsed(
      "replicas: [{url: http://h:1, key: engine-secret}]\ntenants: [{name: t, keys: [tenant-secret, "
      "second-secret]}]\n");
  EXPECT_THAT(PrintConfig(config), AllOf(Not(HasSubstr("secret")), HasSubstr("***")));
}

TEST(Print, ReadsBackToTheSameValues) {
  const std::string yaml =
      "listen: \"[::1]:0\"\npolicy: threshold_gate\n"
      "gpus: [{id: g0, kind: a100-80, memory: 80GiB, sharing: mps, elastic_kv: 1.5GB},\n"
      "       {id: g1, kind: {memory: 24GB, bandwidth: 600.5GB/s, bf16_tflops: 125.25}}]\n"
      "models: [{name: 'null', shape: {layers: 3, kv_heads: 2, head_dim: 64, window: 100, parameters: 1.23B}, aliases: "
      "['1', '~']}]\n"
      "replicas: [{id: 'true', url: http://h:1, gpus: [g0], max_context: 32k, simulated: {slowdown: 0.1, from: 1ms}, "
      "model: llama-3.1-8b}]\n"
      "classes: {standard: {ttft: 1500us}}\ntenant_header: x-team\nstate: {path: /x}\n"
      "trace: {models: {'': llama-3.1-8b, '- x': llama-3.1-8b, 'a: b # c': llama-3.1-8b}, classes: {acme: "
      "interactive}}\npoll: {interval: "
      "1m}\nlog: {all_decisions: true, "
      "path: '*log'}\n";
  const Config config = Parsed(yaml);
  const std::string printed = PrintConfig(config);
  const Config again = Parsed(printed);
  EXPECT_EQ(PrintConfig(again), printed);
  EXPECT_EQ(again.gpus[1].kind, config.gpus[1].kind);
  EXPECT_EQ(again.gpus[0].elastic_kv, config.gpus[0].elastic_kv);
  EXPECT_EQ(again.models[0].shape, config.models[0].shape);
  EXPECT_EQ(again.models[0].aliases, config.models[0].aliases);
  EXPECT_EQ(again.replicas[0].simulated->slowdown.factor, 0.1);
  EXPECT_EQ(again.classes[0].refuse_late, false);
  EXPECT_EQ(again.classes[1].ttft, Duration::Microseconds(1500));
  EXPECT_EQ(again.state, config.state);
  EXPECT_EQ(again.trace.models, config.trace.models);
  EXPECT_EQ(again.trace.classes, config.trace.classes);
  EXPECT_EQ(again.log.path, "*log");
}

TEST(Print, TheConfigurationOfUrlsLoadsAsAFile) {
  const Config config = *ConfigFromUrls("127.0.0.1:8080", {"http://a:1", "http://b:2"});
  const Config again = Parsed(PrintConfig(config));
  EXPECT_EQ(again.replicas.size(), 2u);
  EXPECT_FALSE(again.classes[1].refuse_late);
  EXPECT_TRUE(again.classes[1].is_default);
}

TEST(Print, WhatIsPrintedNeedsNoWarningAboutKeysWithoutEffect) {
  for (const char* more : {"", "state: {path: /x}\n"}) {
    EXPECT_THAT(Warnings(Parsed(PrintConfig(Parsed(WithReplica(more))))), ::testing::IsEmpty()) << more;
  }
}

}  // namespace
}  // namespace penstock
