// The memory of a node for sleeping models: its key and its warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/host_memory_warnings.h"
#include "config/values/capacity.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two replicas with weights of 16 GB each, on two GPUs of a node.
std::string TwoSleepers(const std::string& memory, const std::string& a = "", const std::string& b = "",
                        const std::string& more = "model: llama-3.1-8b") {
  return absl::StrCat("gpus: [{id: n1/gpu0, kind: h100}, {id: n1/gpu1, kind: h100}]\nnodes: [{id: n1, sleep_memory: ",
                      memory, "}]\nreplicas:\n  - {id: a, url: http://h:1, gpus: [n1/gpu0], ", more, ", sleep: {", a,
                      "}}\n  - {id: b, url: http://h:2, gpus: [n1/gpu1], ", more, ", sleep: {", b, "}}\n");
}
std::vector<std::string> WarningsOf(const std::string& yaml) { return HostMemoryWarnings(Parsed(yaml)); }

TEST(HostMemoryKey, IsReadAndPrintedAndNeedsNoExporter) {
  const Config config = Parsed(TwoSleepers("64GB"));
  EXPECT_EQ(config.nodes.at(0).sleep_memory, Bytes(64'000'000'000));
  EXPECT_EQ(Parsed(PrintConfig(config)).nodes, config.nodes);
  EXPECT_TRUE(IsHostBounded(config, config.replicas[0]));
}

TEST(HostMemoryKey, LeftOutThereIsNoBound) {
  const Config config = Parsed(
      "gpus: [{id: n1/gpu0, kind: h100}]\nnodes: [{id: n1, exporters: [{kind: dcgm, url: \"http://h:9\"}]}]\n"
      "replicas: [{url: http://h:1, gpus: [n1/gpu0], model: llama-3.1-8b, sleep: {}}]\n");
  EXPECT_FALSE(config.nodes.at(0).sleep_memory.has_value());
  EXPECT_FALSE(IsHostBounded(config, config.replicas[0]));
  EXPECT_THAT(HostMemoryWarnings(config), IsEmpty());
}

TEST(HostMemoryKey, ZeroAndNonsenseAreFindings) {
  EXPECT_THAT(FindingsOf(TwoSleepers("0GB")), HasSubstr("nodes[0].sleep_memory: 0B is outside"));
  EXPECT_THAT(FindingsOf(TwoSleepers("-1GB")), HasSubstr("nodes[0].sleep_memory"));
  EXPECT_THAT(FindingsOf(TwoSleepers("64")), HasSubstr("nodes[0].sleep_memory"));
}

TEST(HostMemoryWarnings, AreSilentWhereAllFit) {
  EXPECT_THAT(WarningsOf(TwoSleepers("33GB")), IsEmpty());
  EXPECT_THAT(WarningsOf(TwoSleepers("17GB", "", "level: 2")), IsEmpty()) << "level 2 takes none";
  EXPECT_THAT(WarningsOf(TwoSleepers("1GB", "by: command, start: up, stop: down", "level: 2")), IsEmpty());
  EXPECT_THAT(WarningsOf(TwoSleepers("1GB", "", "", "model: llama-3.1-8b, engine: ollama")), IsEmpty());
}

TEST(HostMemoryWarnings, TellWhatHappensToThoseWithoutRoom) {
  EXPECT_THAT(WarningsOf(TwoSleepers("20GB")),
              ElementsAre("nodes: n1: sleep_memory of 20GB does not hold the weights of all 2 replicas that may sleep "
                          "there, which are 32.1GB; one without room drops them and wakes from disk"));
  EXPECT_THAT(WarningsOf(TwoSleepers("20GB", "level: 1")),
              ElementsAre(HasSubstr("drops them and wakes from disk; without room, a stays awake")));
  EXPECT_THAT(WarningsOf(TwoSleepers("20GB", "level: 1", "level: 1")),
              ElementsAre(HasSubstr("which are 32.1GB; without room, a, b stay awake")));
}

TEST(HostMemoryWarnings, NameReplicasThatCannotBeCounted) {
  EXPECT_THAT(WarningsOf(TwoSleepers("20GB", "", "", "model: unheard-of")),
              ElementsAre(HasSubstr("sleep_memory does not count a, b: the size of the weights is unknown")));
  EXPECT_THAT(WarningsOf(TwoSleepers("20GB", "", "", "model: unheard-of, kv_tokens: 1000, resident: 15GB")),
              ElementsAre(HasSubstr("which are 30GB")));
}

}  // namespace
}  // namespace penstock
