// The configuration of nodes, their exporters and rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::string WithNode(const std::string& exporter, const std::string& id = "node1") {
  return absl::StrCat("gpus: [{id: node1/gpu0, kind: h100}]\nreplicas: [{url: http://h:1, gpus: [node1/gpu0]}]\n",
                      "nodes: [{id: ", id, ", exporters: [{", exporter, "}]}]\n");
}
std::string WithRule(const std::string& rule) {
  return WithNode(absl::StrCat("kind: prometheus, url: http://h:9, rules: [{metric: m, ", rule, "}]"));
}

TEST(NodeKeys, AreReadAndPrinted) {
  for (const char* effect : {"derate, factor: 3", "storage, factor: 0.5", "cpu", "drain", "notice"}) {
    const Config config =
        Parsed(WithRule(absl::StrCat("labels: {a: b}, rate: true, above: 1, below: 2.5, for: 10s, effect: ", effect)));
    const NodeRuleConfig& rule = config.nodes.at(0).exporters.at(0).rules.at(0);
    EXPECT_EQ(rule.above, 1);
    EXPECT_EQ(rule.below, 2.5);
    EXPECT_EQ(rule.hold, Duration::Seconds(10));
    EXPECT_EQ(Parsed(PrintConfig(config)).nodes, config.nodes) << effect;
  }
}

TEST(NodeKeys, SimulatedStorageNeedsNoExporter) {
  const Config config = Parsed(
      "gpus: [{id: node1/gpu0, kind: h100}]\nreplicas: [{url: http://h:1, gpus: [node1/gpu0]}]\n"
      "nodes: [{id: node1, simulated: {pressure: 0.5, from: 1m}}]\n"
      "trace: {storage: {team: heavy, other: none}}\n");
  EXPECT_EQ(config.nodes.at(0).simulated->pressure, 0.5);
  EXPECT_EQ(config.nodes.at(0).simulated->from, Duration::Seconds(60));
  EXPECT_EQ(Parsed(PrintConfig(config)).nodes, config.nodes);
  EXPECT_EQ(Parsed(PrintConfig(config)).trace, config.trace);
}

TEST(NodeKeys, LabelsDisabledRulesAndTlsAreReadAndPrinted) {
  const Config config = Parsed(WithNode(
      "kind: node_exporter, url: https://h:9, disable: [disk_time, md_failed], tls: {server_name: n.test}, rules: "
      "[{metric: used, over: limit, above: 0.9, without: {device: \"loop*|sr0\"}, effect: notice}]"));
  const ExporterConfig& exporter = config.nodes.at(0).exporters.at(0);
  EXPECT_EQ(exporter.disable, (std::vector<std::string>{"disk_time", "md_failed"}));
  EXPECT_EQ(exporter.rules.at(0).over, "limit");
  EXPECT_EQ(exporter.rules.at(0).without.at("device"), "loop*|sr0");
  EXPECT_EQ(exporter.tls->server_name, "n.test");
  EXPECT_EQ(Parsed(PrintConfig(config)).nodes, config.nodes);
  EXPECT_THAT(Parsed(WithNode("kind: hami, url: http://h:9")).nodes, ::testing::SizeIs(1)) << "it has rules";
}

TEST(NodeKeys, AReadingEndsWithinItsPeriod) {
  EXPECT_EQ(Parsed(WithNode("kind: dcgm, url: http://h:9, every: 1s")).nodes[0].exporters[0].timeout,
            Duration::Seconds(1));
  EXPECT_THAT(FindingsOf(WithNode("kind: dcgm, url: http://h:9, every: 1s, timeout: 2s")),
              HasSubstr("must not be longer than every"));
}

TEST(NodeKeys, MistakesAreExplained) {
  EXPECT_THAT(FindingsOf(WithNode("kind: dcgm, url: http://h:9", "node2")),
              HasSubstr("no GPU has an id that begins with \"node2/\""));
  EXPECT_THAT(FindingsOf(WithNode("kind: prometheus, url: http://h:9")), HasSubstr("has no built-in rules"));
  EXPECT_THAT(FindingsOf(WithNode("kind: dcgm, url: http://h:9, disable: [disk_time]")),
              HasSubstr("no built-in rule of this kind is named \"disk_time\""));
  EXPECT_THAT(FindingsOf(WithRule("above: 1, rate: true, over: n, effect: drain")),
              HasSubstr("cannot be used with rate"));
  EXPECT_THAT(FindingsOf(WithRule("effect: drain")), HasSubstr("needs a bound: above or below"));
  EXPECT_THAT(FindingsOf(WithRule("above: 2, below: 1, effect: drain")), HasSubstr("must be lower than below"));
  EXPECT_THAT(FindingsOf(WithRule("above: 2, effect: derate, factor: 0.5")), HasSubstr("of a derate must be 1 to 20"));
  EXPECT_THAT(FindingsOf(WithRule("above: 2, effect: explode")), HasSubstr("effect"));
  EXPECT_THAT(FindingsOf(WithNode("kind: dcgm, url: http://h:9}, {kind: node_exporter, url: http://h:9")),
              HasSubstr("duplicate url"));
  EXPECT_THAT(FindingsOf(WithNode("kind: telegraf, url: http://h:9")), HasSubstr("kind"));
}

}  // namespace
}  // namespace penstock
