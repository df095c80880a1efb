#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/keys/key_names.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Parse, TheSmallestFileIsListenAndAUrl) {
  const Config config = Parsed("listen: 127.0.0.1:8080\nreplicas: [{url: http://127.0.0.1:8000}]\n");
  ASSERT_EQ(config.replicas.size(), 1u);
  EXPECT_EQ(config.replicas[0].id, "127.0.0.1:8000");
  EXPECT_EQ(config.replicas[0].engine, "auto");
  EXPECT_EQ(config.policy, "penstock");
  EXPECT_EQ(config.limits.max_body, Bytes(64 << 20));
}

TEST(Parse, EveryFindingHasFileLineColumnAndKey) {
  EXPECT_EQ(
      FindingsOf("replicas:\n  - url: http://h:1\n    kv_memory: 18\n"),
      "f.yaml:3:16: replicas[0].kv_memory: \"18\" needs a unit, one of B kB MB GB TB KiB MiB GiB TiB; allowed 1MB "
      "to 100TB");
}

TEST(Parse, AllFindingsAreReportedAtOnceInTheOrderOfTheFile) {
  const std::string findings = FindingsOf(
      "listen: nowhere\nthreads: 5000\nreplicas:\n  - {url: http://h:1, engine: vlm, max_seqs: 0}\nlog: "
      "{all_decisions: yes}\n");
  EXPECT_EQ(findings,
            "f.yaml:1:9: listen: \"nowhere\" needs a port of 0 to 65535\n"
            "f.yaml:2:10: threads: 5000 is outside 0 to 1024\n"
            "f.yaml:4:31: replicas[0].engine: unknown name \"vlm\" (did you mean \"vllm\"?), known: auto vllm sglang "
            "llamacpp tgi ollama openai\n"
            "f.yaml:4:46: replicas[0].max_seqs: 0 is outside 1 to 65536\n"
            "f.yaml:5:22: log.all_decisions: \"yes\" is not true or false");
}

TEST(Parse, UnknownKeysSuggestTheNearestName) {
  EXPECT_THAT(FindingsOf(WithReplica("lisen: 127.0.0.1:1\n")),
              HasSubstr("f.yaml:2:1: lisen: unknown key (did you mean \"listen\"?), known: listen admin_listen"));
  EXPECT_THAT(FindingsOf(WithReplica("zzzzzzzzzzzz: 1\n")), Not(HasSubstr("did you mean")));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, simulated: {slow_down: 4}}]\n"),
              HasSubstr("replicas[0].simulated.slow_down: unknown key (did you mean \"slowdown\"?)"));
}

TEST(Parse, DuplicateKeysAreFindings) {
  EXPECT_THAT(FindingsOf(WithReplica("threads: 1\nthreads: 2\n")),
              HasSubstr("f.yaml:3:1: threads: duplicate key, first in line 2"));
}

TEST(Parse, EmptyAndWrongRootsAreFindings) {
  EXPECT_THAT(FindingsOf(""), HasSubstr("f.yaml:1:1: the file is empty"));
  EXPECT_THAT(FindingsOf("# nothing\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(FindingsOf("- a\n- b\n"), HasSubstr("must be a mapping of keys to values, is a list"));
  EXPECT_THAT(FindingsOf("text"), HasSubstr("is a plain value"));
  EXPECT_THAT(FindingsOf(WithReplica("---\na: 1\n")), HasSubstr("second document"));
}

TEST(Parse, BrokenYamlIsAFindingWithItsPlace) {
  EXPECT_THAT(FindingsOf("listen: [1, 2\n"), AllOf(HasSubstr("f.yaml:"), HasSubstr("not valid YAML")));
  EXPECT_THAT(FindingsOf("listen: *nowhere\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(FindingsOf(std::string(5000, '[')), HasSubstr("f.yaml:"));
}

TEST(Parse, BytesThatAreNotUtf8AreFoundWithTheirPlace) {
  EXPECT_EQ(FindingsOf("a: b\nc: \xff\n"), "f.yaml:2:4: the file is not UTF-8 text: byte 0xff");
  EXPECT_THAT(FindingsOf("a: \xc0\xaf\n"), HasSubstr("byte 0xc0"));      // Overlong.
  EXPECT_THAT(FindingsOf("a: \xed\xa0\x80\n"), HasSubstr("byte 0xed"));  // Surrogate.
  EXPECT_THAT(FindingsOf(std::string("a: \0b\n", 6)), HasSubstr("byte 0x00"));
  EXPECT_THAT(FindingsOf("\xff\xfel\0i\0"), HasSubstr("byte 0xff"));  // UTF-16.
}

TEST(Parse, AByteOrderMarkAndForeignLettersAreFine) {
  EXPECT_EQ(Parsed("\xef\xbb\xbfreplicas: [{url: http://h:1}]  # Größe 模型\n").replicas.size(), 1u);
}

TEST(Parse, EmptyValuesAreFindings) {
  EXPECT_THAT(FindingsOf("replicas:\n"), HasSubstr("f.yaml:1:1: replicas: has no value"));
  EXPECT_THAT(FindingsOf("replicas: [{url: }]\n"), HasSubstr("replicas[0].url: has no value"));
}

TEST(Parse, WrongKindsOfNodesAreFindings) {
  EXPECT_THAT(FindingsOf("replicas: http://h:1\n"),
              HasSubstr("replicas: must be a list of mappings, is a plain value"));
  EXPECT_THAT(FindingsOf("replicas: [http://h:1]\n"), HasSubstr("replicas[0]: must be a mapping"));
  EXPECT_THAT(FindingsOf(WithReplica("listen: [a]\n")), HasSubstr("listen: must be a text, is a list"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, gpus: g}]\n"), HasSubstr("gpus: must be a list of texts"));
  EXPECT_THAT(FindingsOf(WithReplica("limits: 3\n")), HasSubstr("limits: must be a mapping"));
  EXPECT_THAT(FindingsOf("? [a]\n: 1\n"), HasSubstr("has a key that is not a plain name"));
}

TEST(Parse, AnchorsAndMergeKeysAreResolved) {
  const Config config = Parsed(
      "gpus: [&g {id: g0, kind: h100}, {<<: *g, id: g1}]\n"
      "replicas: [{url: http://h:1, gpus: [g1]}]\n");
  ASSERT_EQ(config.gpus.size(), 2u);
  EXPECT_EQ(config.gpus[1].id, "g1");
  EXPECT_EQ(config.gpus[1].kind.name, "h100");
}

TEST(Parse, AMappingThatMergesItselfEnds) {
  EXPECT_THAT(FindingsOf("gpus: [&g {id: g0, kind: h100, <<: *g}]\nreplicas: [{url: http://h:1}]\n"), HasSubstr("64"));
}

TEST(Parse, CountsTakeThousandsAndMillions) {
  const Config config = Parsed("replicas: [{url: http://h:1, kv_tokens: 600k, max_context: 1M}]\n");
  EXPECT_EQ(config.replicas[0].kv_tokens, Tokens(600'000));
  EXPECT_EQ(config.replicas[0].max_context, Tokens(1'000'000));
}

TEST(Parse, SimulatedReplicasHaveTheirSlowdownBesideTheirLimits) {
  const Config config = Parsed(
      "gpus: [{id: g, kind: a100-80}]\nreplicas:\n"
      "  - {id: a, gpus: [g], model: llama-3.1-8b, simulated: {slowdown: 4, from: 60s, to: 120s, overflow: error, "
      "linear_prefill: true}}\n");
  const SimulatedConfig& simulated = *config.replicas[0].simulated;
  EXPECT_EQ(simulated.slowdown.factor, 4);
  EXPECT_EQ(simulated.slowdown.from, Duration::Seconds(60));
  EXPECT_EQ(simulated.slowdown.to, Duration::Seconds(120));
  EXPECT_TRUE(simulated.overflow_error);
  EXPECT_TRUE(simulated.linear_prefill);
  EXPECT_EQ(simulated.max_seqs, 256);
  EXPECT_THAT(FindingsOf("replicas: [{id: a, simulated: {from: 60s}}]\n"),
              HasSubstr("simulated.from: bounds a slowdown"));
  EXPECT_THAT(FindingsOf("replicas: [{id: a, simulated: {slowdown: 2, from: 9s, to: 3s}}]\n"),
              HasSubstr("simulated.to: must be later than from"));
}

TEST(Parse, ShapesAreNamesFilesOrNumbers) {
  const Config config =
      Parsed(WithReplica("models:\n  - {name: llama-3.1-8b}\n  - {name: mine, shape: qwen2.5-7b}\n  - {name: another}\n"
                         "  - {name: numbers, shape: {layers: 32, kv_heads: 8, head_dim: 128, window: 4096, "
                         "window_layers: 16, parameters: 8B, attention_width: 4096}}\n"));
  EXPECT_EQ(config.models[0].shape->name, "llama-3.1-8b");
  EXPECT_EQ(config.models[1].shape->name, "qwen2.5-7b");
  EXPECT_FALSE(config.models[2].shape.has_value());
  const ModelShape& numbers = *config.models[3].shape;
  ASSERT_EQ(numbers.groups.size(), 2u);
  EXPECT_EQ(numbers.groups[0].layers, 16);
  EXPECT_EQ(numbers.groups[1].window, Tokens(4096));
  EXPECT_EQ(numbers.parameters, 8e9);
  EXPECT_EQ(numbers.attention_width, 4096);
}

TEST(Parse, BadShapesAreFindings) {
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: m, shape: lama-3.1-8b}]\n")),
              HasSubstr("neither a built-in shape (did you mean \"llama-3.1-8b\"?) nor a path that ends in .json"));
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: m, shape: none.json}]\n")),
              HasSubstr("models[0].shape: cannot read"));
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: m, shape: {layers: 2, kv_heads: 2}}]\n")),
              HasSubstr("models[0].shape.head_dim: is required"));
  EXPECT_THAT(
      FindingsOf(WithReplica("models: [{name: m, shape: {layers: 2, kv_heads: 2, head_dim: 2, window_layers: 1}}]\n")),
      HasSubstr("window_layers: needs window"));
  EXPECT_THAT(FindingsOf(WithReplica("models: [{name: m, shape: {layers: 2, groups: [{kind: latent, layers: 2}]}}]\n")),
              HasSubstr("groups[0].latent_dim: is required"));
}

TEST(Parse, GpuKindsAreNamesOrNumbersAndMemoryOverrides) {
  const Config config =
      Parsed(WithReplica("gpus:\n  - {id: a, kind: a100-80, memory: 80GiB}\n"
                         "  - {id: b, kind: {memory: 24GB, bandwidth: 600GB/s, bf16_tflops: 125}}\n"));
  EXPECT_EQ(config.gpus[0].kind.memory.value(), int64_t{80} << 30);
  EXPECT_EQ(config.gpus[1].kind.bandwidth_gb_per_s, 600);
  EXPECT_THAT(FindingsOf(WithReplica("gpus: [{id: a, kind: a100}]\n")),
              HasSubstr("gpus[0].kind: unknown name \"a100\""));
  EXPECT_THAT(FindingsOf(WithReplica("gpus: [{id: a, kind: {memory: 24GB}}]\n")),
              HasSubstr("kind.bandwidth: is required"));
  EXPECT_THAT(FindingsOf(WithReplica("gpus: [{id: a}]\n")), HasSubstr("gpus[0].kind: is required"));
}

class Secrets : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("PENSTOCK_TEST_KEY", "s3cret", 1);
    unsetenv("PENSTOCK_TEST_NONE");
    folder_ = std::filesystem::temp_directory_path() / ("penstock-secrets-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "key") << "from-file\n";
    std::ofstream(folder_ / "empty") << "\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  absl::StatusOr<Config> WithKey(const std::string& key) {
    return ParseConfig("replicas: [{url: http://h:1, key: \"" + key + "\"}]\n", (folder_ / "f.yaml").string());
  }
  std::filesystem::path folder_;
};

TEST_F(Secrets, ComeFromTheEnvironmentOrAFileBesideTheConfiguration) {
  EXPECT_EQ(WithKey("${PENSTOCK_TEST_KEY}")->replicas[0].key, "s3cret");
  EXPECT_EQ(WithKey("Bearer-${PENSTOCK_TEST_KEY}!")->replicas[0].key, "Bearer-s3cret!");
  EXPECT_EQ(WithKey("file:key")->replicas[0].key, "from-file");
  EXPECT_EQ(WithKey("plain")->replicas[0].key, "plain");
}

TEST_F(Secrets, MissingOnesAreFindingsThatNameTheSourceAndNoValue) {
  EXPECT_THAT(std::string(WithKey("${PENSTOCK_TEST_NONE}").status().message()),
              HasSubstr("replicas[0].key: environment variable \"PENSTOCK_TEST_NONE\" is not set"));
  EXPECT_THAT(std::string(WithKey("file:none").status().message()), HasSubstr("replicas[0].key: cannot read"));
  EXPECT_THAT(std::string(WithKey("file:empty").status().message()), HasSubstr("the secret is empty"));
  EXPECT_THAT(std::string(WithKey("${PENSTOCK_TEST_KEY").status().message()), HasSubstr("${ without }"));
  const std::string spaces(WithKey("two words").status().message());
  EXPECT_THAT(spaces, AllOf(HasSubstr("contains spaces"), Not(HasSubstr("two words"))));
}

TEST_F(Secrets, APipeThatNobodyWritesKeepsNobody) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(WithKey("file:pipe").status().message()), HasSubstr("No data available"));
  EXPECT_FALSE(LoadConfigFile(pipe).ok());
}

TEST(Load, AFileThatCannotBeReadIsAFinding) {
  EXPECT_THAT(std::string(LoadConfigFile("/nonexistent/f.yaml").status().message()),
              HasSubstr("/nonexistent/f.yaml:1:1: cannot read"));
  EXPECT_THAT(std::string(LoadConfigFile("/").status().message()), HasSubstr("is a directory"));
}

struct LimitRange {
  std::string key, too_low, lowest, highest, too_high;
};

TEST(Parse, EveryLimitHasARangeWhoseEndsAreTaken) {
  std::vector<LimitRange> ranges = {
      {"max_body", "999B", "1kB", "4GiB", "4.1GiB"},          {"max_header", "999B", "1kB", "16MiB", "17MiB"},
      {"max_connections", "0", "1", "10M", "10000001"},       {"max_queued_requests", "-1", "0", "10M", "10000001"},
      {"max_queued_bytes", "999B", "1kB", "1TiB", "1.1TiB"},  {"max_body_memory", "999B", "1kB", "1TiB", "1.1TiB"},
      {"max_answer", "999B", "1kB", "4GiB", "4.1GiB"},        {"max_kept_text", "-1B", "0B", "1TiB", "1.1TiB"},
      {"max_answer_memory", "999B", "1kB", "1TiB", "1.1TiB"}, {"max_kept_text_total", "-1B", "0B", "1TiB", "1.1TiB"},
      {"min_body_rate", "-1B", "0B", "1GiB", "1.1GiB"},       {"min_answer_rate", "-1B", "0B", "1GiB", "1.1GiB"},
      {"max_requests_per_key", "0", "1", "10M", "10000001"},  {"max_streams", "0", "1", "10000", "10001"},
  };
  for (const char* key :
       {"header_timeout", "body_timeout", "idle_timeout", "write_timeout", "connect_timeout", "first_byte_timeout",
        "gap_timeout", "hang_after", "keepalive_after", "drain_timeout", "answer_timeout", "max_body_time"}) {
    ranges.push_back({key, "0ms", "1ms", "7d", "8d"});
  }
  for (const absl::string_view key : KeyNames<LimitsConfig>()) {
    EXPECT_TRUE(std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) { return range.key == key; })) << key;
  }
  for (const LimitRange& range : ranges) {
    const auto findings = [&](const std::string& value) {
      return FindingsOf(WithReplica("limits: {" + range.key + ": " + value + "}\n"));
    };
    for (const std::string& good : {range.lowest, range.highest}) EXPECT_EQ(findings(good), "") << range.key;
    for (const std::string& bad : {range.too_low, range.too_high}) {
      EXPECT_THAT(findings(bad), HasSubstr("limits." + range.key + ": ")) << bad;
    }
  }
}

TEST(Parse, TheLimitsOfATenantHaveARangeToo) {
  const auto findings = [&](const std::string& limit) {
    return FindingsOf(WithReplica("tenants: [{name: t, keys: [k], " + limit + "}]\n"));
  };
  for (const char* good : {"tokens_per_minute: 1", "max_concurrent: 1", "max_concurrent: 10M"}) {
    EXPECT_EQ(findings(good), "") << good;
  }
  for (const char* bad : {"tokens_per_minute: 0", "max_concurrent: 0", "max_concurrent: 11M"}) {
    EXPECT_THAT(findings(bad), HasSubstr("outside")) << bad;
  }
}

TEST(Urls, MakeAConfigurationWithoutAFile) {
  const absl::StatusOr<Config> config = ConfigFromUrls("127.0.0.1:0", {"http://a:1", "http://b:2/x"});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replicas[1].id, "b:2/x");
  EXPECT_EQ(config->classes.size(), 3u);
  EXPECT_FALSE(ConfigFromUrls("127.0.0.1:0", {}).ok());
  EXPECT_FALSE(ConfigFromUrls("127.0.0.1", {"http://a:1"}).ok());
  EXPECT_FALSE(ConfigFromUrls("127.0.0.1:0", {"a:1"}).ok());
  EXPECT_FALSE(ConfigFromUrls("127.0.0.1:0", {"http://a:1", "http://a:1/"}).ok());
}

}  // namespace
}  // namespace penstock
