// GPUs that are parts of a device (MIG slices, HAMi limits), and engines with limits in elastic memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/capacity.h"
#include "config/values/gpu_slice.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Gpu(const std::string& keys) {
  return absl::StrCat("gpus: [{id: g, ", keys, "}]\nreplicas: [{url: http://h:1, model: qwen2.5-1.5b, gpus: [g]}]\n");
}

TEST(MigSlices, HaveTheirPartsOfMemoryBandwidthAndCompute) {
  const Config config = Parsed(Gpu("kind: h100, slice: 3g.40gb"));
  const GpuConfig& gpu = config.gpus[0];
  EXPECT_EQ(gpu.kind.memory, Bytes(40'000'000'000));
  const GpuKind speed = SpeedOf(gpu);
  const GpuKind& whole = *FindGpuKind("h100");
  EXPECT_DOUBLE_EQ(speed.bandwidth_gb_per_s, whole.bandwidth_gb_per_s / 2);
  EXPECT_DOUBLE_EQ(speed.bf16_tflops, whole.bf16_tflops * 3 / 7);
  EXPECT_DOUBLE_EQ(speed.fp8_tflops, whole.fp8_tflops * 3 / 7);
}

TEST(MigSlices, OfEveryKindAreKnownByTheirRoundedMemory) {
  const std::pair<const char*, const char*> kKnown[] = {
      {"a100-40", "1g.5gb"}, {"a100-40", "3g.20gb"}, {"a100-80", "1g.10gb"}, {"a100-80", "1g.20gb"},
      {"h100", "2g.20gb"},   {"h100", "7g.80gb"},    {"h100", "1g.10gb+me"}, {"h200", "1g.18gb"},
      {"h200", "3g.71gb"},   {"h200", "4g.71gb"},    {"b200", "1g.23gb"},    {"b200", "3g.90gb"}};
  for (const auto& [kind, slice] : kKnown) {
    EXPECT_THAT(FindingsOf(Gpu(absl::StrCat("kind: ", kind, ", slice: ", slice))), IsEmpty()) << kind << " " << slice;
  }
}

TEST(MigSlices, ThatNoDeviceHasAreRefusedWithThoseThatItHas) {
  EXPECT_THAT(FindingsOf(Gpu("kind: h100, slice: 3g.20gb")),
              HasSubstr("3g.20gb is no slice of a device of 80GB; it has 1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb"));
  EXPECT_THAT(FindingsOf(Gpu("kind: h100, slice: 5g.50gb")), HasSubstr("is no slice"));
  for (const char* text : {"half", "3g", "3g.", "g.40gb", "3.40", "3g.40gbx", "-3g.40gb"}) {
    EXPECT_THAT(FindingsOf(Gpu(absl::StrCat("kind: h100, slice: ", text))), HasSubstr("MIG profile")) << text;
  }
  EXPECT_THAT(FindingsOf(Gpu("kind: {memory: 80GB, bandwidth: 2000GB/s, bf16_tflops: 300}, slice: 3g.40gb")),
              HasSubstr("give the numbers of the slice as kind instead"));
}

std::string SlicesWarned(const std::string& gpus, const std::string& more = "") {
  return absl::StrJoin(Warnings(Parsed(absl::StrCat("gpus: [", gpus, "]\nreplicas: [{url: http://h:1}]\n", more))),
                       "\n");
}

TEST(MigSlices, OfAKindWithoutMigAreWarnedOf) {
  for (const auto& [kind, slice] :
       {std::pair("l4", "3g.12gb"), std::pair("a10", "3g.12gb"), std::pair("mi300x", "1g.24gb")}) {
    EXPECT_THAT(SlicesWarned(absl::StrCat("{id: g, kind: ", kind, ", slice: ", slice, "}")),
                HasSubstr(absl::StrCat("gpus: g: ", kind, " has no MIG")));
  }
  EXPECT_THAT(SlicesWarned("{id: g, kind: a100-80, slice: 3g.40gb}"), Not(HasSubstr("MIG")));
}

TEST(MigSlices, ThatAreMoreThanTheirDeviceAreWarnedOf) {
  const auto two = [](const char* first, const char* slice, const char* second, const char* other) {
    return absl::StrCat("{id: ", first, ", kind: h100, slice: ", slice, "}, {id: ", second,
                        ", kind: h100, slice: ", other, "}");
  };
  EXPECT_THAT(SlicesWarned(two("n/g0/a", "4g.40gb", "n/g0/b", "4g.40gb")),
              HasSubstr("gpus: n/g0/a, n/g0/b are 8 sevenths of the compute and 8 eighths of the memory of one h100"));
  EXPECT_THAT(SlicesWarned(two("n/g0/a", "4g.40gb", "n/g0/b", "3g.40gb")), Not(HasSubstr("sevenths")));
  EXPECT_THAT(SlicesWarned(two("n/g0/a", "4g.40gb", "n/g1/a", "4g.40gb")), Not(HasSubstr("sevenths")));
  EXPECT_THAT(SlicesWarned(two("a", "4g.40gb", "b", "4g.40gb")), Not(HasSubstr("sevenths"))) << "nobody tells a device";
  const std::string node = "nodes: [{id: n, sleep_memory: 64GB}]\n";
  EXPECT_THAT(SlicesWarned(two("n/a", "4g.40gb", "n/b", "4g.40gb"), node), Not(HasSubstr("sevenths")));
}

TEST(MigSlices, SurviveBeingPrinted) {
  for (const char* keys : {"kind: h100, slice: 3g.40gb", "kind: h200, slice: 1g.18gb", "kind: a100-80, cores: 0.3",
                           "kind: h100, slice: 3g.40gb, memory: 39GiB"}) {
    const Config config = Parsed(Gpu(keys));
    const Config again = Parsed(PrintConfig(config));
    EXPECT_EQ(SpeedOf(again.gpus[0]), SpeedOf(config.gpus[0])) << keys;
  }
}

TEST(MigSlices, BoundTheMemoryOfTheirReplicas) {
  EXPECT_THAT(FindingsOf(Gpu("kind: h100, slice: 1g.10gb")), IsEmpty());
  EXPECT_THAT(FindingsOf("gpus: [{id: g, kind: h100, slice: 1g.10gb}]\n"
                         "replicas: [{url: http://h:1, model: llama-3.1-8b, gpus: [g]}]\n"),
              HasSubstr("above the GPU's 10GB"));
}

TEST(HamiLimits, LeaveAPartOfTheTimeAndOfTheMemory) {
  const Config config = Parsed(Gpu("kind: a100-80, memory: 20GB, cores: 0.3"));
  const GpuKind speed = SpeedOf(config.gpus[0]);
  EXPECT_EQ(speed.memory, Bytes(20'000'000'000));
  EXPECT_DOUBLE_EQ(speed.bandwidth_gb_per_s, 0.3 * FindGpuKind("a100-80")->bandwidth_gb_per_s);
  EXPECT_DOUBLE_EQ(speed.bf16_tflops, 0.3 * FindGpuKind("a100-80")->bf16_tflops);
  EXPECT_THAT(FindingsOf(Gpu("kind: a100-80, cores: 30")), HasSubstr("cores"));
  EXPECT_THAT(FindingsOf(Gpu("kind: a100-80, cores: 0")), HasSubstr("cores"));
}

TEST(GpuParts, AreExplainedInWords) {
  EXPECT_THAT(PartText(Parsed(Gpu("kind: h100")).gpus[0]), IsEmpty());
  EXPECT_EQ(PartText(Parsed(Gpu("kind: h100, slice: 3g.40gb")).gpus[0]),
            "is the slice 3g.40gb of one h100: 40.0GB, 1675GB/s, 424 bf16 TFLOP/s; other parts do not slow it");
  EXPECT_THAT(PartText(Parsed(Gpu("kind: a100-80, memory: 20GB, cores: 0.3")).gpus[0]),
              HasSubstr("is 30 % of the time of one a100-80: 20.0GB, 612GB/s"));
}

std::string Elastic(const std::string& gpu, const std::string& replicas) {
  return absl::StrCat("gpus: [{id: g, kind: a100-80", gpu, "}, {id: h, kind: a100-80}]\nreplicas:\n", replicas);
}
std::string Replica(int port, const std::string& more) {
  return absl::StrCat("  - {url: 'http://h:", port, "', model: qwen2.5-3b, gpus: [g]", more, "}\n");
}

TEST(ElasticKeys, AreReadAndPrinted) {
  const Config config =
      Parsed(Elastic(", elastic_kv: 30GB, elastic: manage",
                     Replica(1, ", elastic: {segment: kvcached_a}") + Replica(2, ", elastic: {segment: /run/b}")));
  EXPECT_EQ(config.gpus[0].elastic, ElasticMode::kManage);
  EXPECT_EQ(config.gpus[1].elastic, ElasticMode::kRead);
  EXPECT_EQ(config.replicas[0].elastic->segment, "kvcached_a");
  EXPECT_EQ(Parsed(PrintConfig(config)).replicas[1].elastic, config.replicas[1].elastic);
  EXPECT_EQ(Parsed(PrintConfig(config)).gpus[0].elastic, ElasticMode::kManage);
  EXPECT_THAT(Warnings(config), Not(::testing::Contains(HasSubstr("elastic"))));
}

TEST(ElasticKeys, ThatCannotWorkAreRefused) {
  EXPECT_THAT(FindingsOf(Elastic(", elastic: manage", Replica(1, ""))), HasSubstr("manage needs elastic_kv"));
  EXPECT_THAT(FindingsOf(Elastic("", Replica(1, ", elastic: {}"))), HasSubstr("segment"));
  EXPECT_THAT(FindingsOf(Elastic("", Replica(1, ", elastic: {segment: ''}"))), HasSubstr("must not be empty"));
  EXPECT_THAT(FindingsOf(Elastic("", Replica(1, ", elastic: {segment: a/../b}"))), HasSubstr("path from the root"));
  EXPECT_THAT(FindingsOf(Elastic("", Replica(1, ", elastic: {segment: a}") + Replica(2, ", elastic: {segment: a}"))),
              HasSubstr("has the segment of replica h:1"));
  EXPECT_THAT(FindingsOf(Elastic(", elastic_kv: 30GB, elastic: manage",
                                 "  - {url: 'http://h:1', model: qwen2.5-3b, gpus: [g, h], elastic: {segment: a}}\n")),
              HasSubstr("a limit on several GPUs cannot be managed"));
}

TEST(CacheEventKeys, AreReadAndPrinted) {
  const Config config =
      Parsed(Elastic("", Replica(1, ", kv_events: {endpoint: 'tcp://h:5557', replay: 'tcp://h:5558'}") +
                             Replica(2, ", kv_events: {endpoint: 'tcp://[::1]:5557'}")));
  EXPECT_EQ(config.replicas[0].kv_events->replay, "tcp://h:5558");
  EXPECT_EQ(Parsed(PrintConfig(config)).replicas[0].kv_events, config.replicas[0].kv_events);
  EXPECT_EQ(Parsed(PrintConfig(config)).replicas[1].kv_events, config.replicas[1].kv_events);
}

TEST(CacheEventKeys, ThatCannotWorkAreRefused) {
  const auto findings = [](const std::string& keys) {
    return FindingsOf(Elastic("", Replica(1, ", kv_events: {" + keys + "}")));
  };
  EXPECT_THAT(findings(""), HasSubstr("endpoint"));
  for (const char* address : {"h:5557", "tcp://*:5557", "tcp://h", "tcp://h:0", "ipc://events", "http://h:5557"}) {
    EXPECT_THAT(findings(absl::StrCat("endpoint: '", address, "'")), HasSubstr("must be tcp://HOST:PORT")) << address;
  }
  EXPECT_THAT(findings("endpoint: 'tcp://h:1', replay: 'tcp://h:1'"), HasSubstr("two sockets"));
  EXPECT_THAT(findings("endpoint: 'tcp://h:1', replay: 'h:2'"), HasSubstr("replay must be"));
  EXPECT_THAT(FindingsOf(Elastic("", Replica(1, ", kv_events: {endpoint: 'tcp://h:7'}") +
                                         Replica(2, ", kv_events: {endpoint: 'tcp://h:7'}"))),
              HasSubstr("has the endpoint of replica h:1"));
}

TEST(HostCacheKeys, AreReadAndPrinted) {
  const Config config = Parsed(Elastic(
      "", Replica(1, ", host_cache: {memory: 64GB, bandwidth: 12.5GB/s}") + Replica(2, ", host_cache: {memory: 8GB}")));
  EXPECT_EQ(config.replicas[0].host_cache, (ReplicaHostCacheConfig{Bytes(64'000'000'000), 12.5}));
  EXPECT_EQ(config.replicas[1].host_cache->bandwidth, 20);
  EXPECT_EQ(Parsed(PrintConfig(config)).replicas[0].host_cache, config.replicas[0].host_cache);
}

TEST(HostCacheKeys, ThatCannotWorkAreRefused) {
  const auto findings = [](const std::string& gpu, const std::string& keys) {
    return FindingsOf(Elastic(gpu, Replica(1, keys)));
  };
  EXPECT_THAT(findings("", ", host_cache: {}"), HasSubstr("memory"));
  EXPECT_THAT(findings("", ", host_cache: {memory: 0GB}"), HasSubstr("memory"));
  EXPECT_THAT(findings("", ", host_cache: {memory: 1GB, bandwidth: 0GB/s}"), HasSubstr("bandwidth"));
  EXPECT_THAT(findings(", elastic_kv: 30GB", ", host_cache: {memory: 1GB}"), HasSubstr("this one keeps none"));
  EXPECT_THAT(findings("", ", simulated: {overflow: error}, host_cache: {memory: 1GB}"), HasSubstr("keeps none"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, model: unheard-of, host_cache: {memory: 1GB}}]\n"),
              HasSubstr("needs the shape of the model"));
}

TEST(ElasticKeys, WithoutAnEffectAreWarnedAbout) {
  const Config alone = Parsed(Elastic(", elastic_kv: 30GB, elastic: manage", Replica(1, ", elastic: {segment: a}")));
  EXPECT_THAT(Warnings(alone), ::testing::Contains(HasSubstr("fewer than two replicas")));
  const Config rival = Parsed("policy: least_request\n" +
                              Elastic(", elastic_kv: 30GB, elastic: manage",
                                      Replica(1, ", elastic: {segment: a}") + Replica(2, ", elastic: {segment: b}")));
  EXPECT_THAT(Warnings(rival), ::testing::Contains(HasSubstr("never moves a limit")));
}

TEST(ElasticKeys, ASimulatedCacheInElasticMemoryHasTheSizeOfThatMemory) {
  const std::string simulated = ", simulated: {}, kv_memory: 5GB, elastic: {segment: a}";
  const Config config = Parsed(Elastic(", elastic_kv: 30GB", Replica(1, simulated)));
  const Config whole = Parsed(Elastic(", elastic_kv: 30GB", Replica(1, ", simulated: {}")));
  EXPECT_EQ(*SimulatedKvTokens(config, config.replicas[0]), *SimulatedKvTokens(whole, whole.replicas[0]));
}

}  // namespace
}  // namespace penstock
