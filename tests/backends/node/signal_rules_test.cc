// The built-in rules, and the forms of rules: labels, ratios, parts of a node.
#include "backends/node/signals/signal_rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/backends/node/exporter_pages.h"

namespace penstock {
namespace {

TEST(SignalRules, AnXidOfOneMigInstanceClosesThatSliceOnly) {
  ExporterWatch watch(OfKind(ExporterKind::kDcgm));
  Read(watch, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",GPU_I_PROFILE=\"3g.40gb\",GPU_I_ID=\"2\"} 79\n", 0);
  EXPECT_TRUE(watch.EffectsOn({.number = "0", .instance = "2"}, At(0)).closed);
  EXPECT_FALSE(watch.EffectsOn({.number = "0", .instance = "1"}, At(0)).closed);
  EXPECT_TRUE(watch.EffectsOn({.number = "0"}, At(0)).closed) << "its instance is not configured";
  Read(watch, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 79\n", 5);
  EXPECT_TRUE(watch.EffectsOn({.number = "0", .instance = "1"}, At(5)).closed) << "the whole device";
}

TEST(SignalRules, AKindKnowsItsMetricsAndThoseOfItsFile) {
  EXPECT_TRUE(IsOfKind(OfKind(ExporterKind::kDcgm), "DCGM_FI_DEV_GPU_TEMP"));
  EXPECT_FALSE(IsOfKind(OfKind(ExporterKind::kDcgm), "node_load1"));
  EXPECT_TRUE(IsOfKind(NodeExporter(), "node_load1"));
  EXPECT_TRUE(IsOfKind(OfKind(ExporterKind::kPrometheus), "anything"));
  ExporterConfig own = OfKind(ExporterKind::kHami);
  own.rules = {Hot()};
  EXPECT_TRUE(IsOfKind(own, "temperature"));
  EXPECT_FALSE(IsOfKind(own, "temperatures"));
}

TEST(SignalRules, RowsOfGpuMemoryThatCannotBeReplacedCloseTheGpu) {
  ExporterWatch watch(OfKind(ExporterKind::kDcgm));
  Read(watch, "DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu=\"0\"} 1\nDCGM_FI_DEV_ROW_REMAP_FAILURE{gpu=\"1\"} 0\n", 0);
  EXPECT_TRUE(watch.EffectsOn({.number = "0"}, At(0)).closed);
  EXPECT_FALSE(watch.EffectsOn({.number = "1"}, At(0)).closed);
}

TEST(SignalRules, FullMemoryAndASlowMemoryClockOfAGpuAreToldAndDerateNothing) {
  ExporterWatch watch(OfKind(ExporterKind::kDcgm));
  const std::string page =
      "DCGM_FI_DEV_FB_FREE{gpu=\"0\"} 100\nDCGM_FI_DEV_MEM_CLOCK{gpu=\"0\"} 800\n"
      "DCGM_FI_DEV_MAX_MEM_CLOCK{gpu=\"0\"} 1600\nDCGM_FI_DEV_MEM_CLOCK{gpu=\"1\"} 1600\n"
      "DCGM_FI_DEV_MAX_MEM_CLOCK{gpu=\"1\"} 1600\n";
  for (const double at : {0, 5, 10}) Read(watch, page, at);
  const std::vector<std::string> news = watch.TakeNews();
  ASSERT_EQ(news.size(), 2u);
  EXPECT_NE(news[0].find("MEM_CLOCK over DCGM_FI_DEV_MAX_MEM_CLOCK below 0.75: notice"), std::string::npos) << news[0];
  EXPECT_NE(news[1].find("FB_FREE below 256: notice"), std::string::npos) << news[1];
  EXPECT_EQ(Effects(watch, 10), NodeEffects());
}

TEST(SignalRules, ARatioNeedsBothSamplesAndAPositiveDivisor) {
  NodeRuleConfig rule = Hot();
  rule.over = "limit";
  rule.above = 0.9;
  ExporterWatch watch(OneRule(rule));
  for (const char* page : {"temperature 95\n", "temperature 95\nlimit 0\n", "temperature 95\nlimit NaN\n",
                           "temperature{a=\"1\"} 95\nlimit{a=\"2\"} 100\n"}) {
    Read(watch, page, 1);
    EXPECT_EQ(Effects(watch, 1).derate, 1) << page;
  }
  Read(watch, "temperature 95\nlimit 100\n", 2);
  EXPECT_EQ(Effects(watch, 2).derate, 3);
}

TEST(SignalRules, HamiSaysThatAContainerReachedItsLimit) {
  ExporterWatch watch(OfKind(ExporterKind::kHami));
  const std::string page =
      "hami_vgpu_memory_used_bytes{pod=\"a\",device_uuid=\"GPU-1\"} 99e8\n"
      "hami_vgpu_memory_limit_bytes{pod=\"a\",device_uuid=\"GPU-1\"} 1e10\n";
  for (const double at : {0, 5, 10}) Read(watch, page, at);
  ASSERT_EQ(watch.TakeNews().size(), 1u);
}

TEST(SignalRules, ADeviceOfHamiHasTheNumberThatThePageGivesItsUuid) {
  ExporterConfig config = OfKind(ExporterKind::kHami);
  NodeRuleConfig rule = Hot();
  rule.metric = "hami_vgpu_memory_used_bytes";
  config.rules = {rule};
  ExporterWatch watch(config);
  Read(watch, "hami_vgpu_memory_used_bytes{device_uuid=\"GPU-b\"} 95\n", 0);
  EXPECT_EQ(watch.EffectsOn({.number = "1"}, At(0)).derate, 1) << "nothing numbers the device";
  Read(watch,
       "hami_host_gpu_memory_used_bytes{device_index=\"1\",device_uuid=\"GPU-b\"} 5\n"
       "hami_vgpu_memory_used_bytes{device_uuid=\"GPU-b\"} 95\n",
       5);
  EXPECT_EQ(watch.EffectsOn({.number = "1"}, At(5)).derate, 3);
  EXPECT_EQ(watch.EffectsOn({.number = "0"}, At(5)).derate, 1);
}

TEST(SignalRules, ADiskRuleNamesOrExcludesDevices) {
  NodeRuleConfig rule = Hot();
  rule.labels = {{"device", "nvme*|md0"}};
  rule.without = {{"device", "nvme9*"}, {"role", "scratch"}};
  ExporterWatch watch(OneRule(rule));
  double at = 0;
  const auto derate = [&watch, &at](const char* labels) {
    Read(watch, absl::StrCat("temperature{", labels, "} 95\n"), at += 100);
    return Effects(watch, at).derate;
  };
  EXPECT_EQ(derate("device=\"nvme0n1\""), 3);
  EXPECT_EQ(derate("device=\"md0\""), 3);
  EXPECT_EQ(derate("device=\"md01\""), 1);
  EXPECT_EQ(derate("device=\"nvme9n1\""), 1);
  EXPECT_EQ(derate("device=\"nvme0n1\",role=\"scratch\""), 1);
  EXPECT_EQ(derate("other=\"nvme0n1\""), 1);
}

TEST(SignalRules, ALoopDeviceIsNoStorage) {
  ExporterWatch watch(NodeExporter());
  for (const int seconds : {0, 5}) {
    Read(watch, absl::StrCat("node_disk_io_time_seconds_total{device=\"loop3\"} ", seconds, "\n"), seconds);
  }
  EXPECT_EQ(Effects(watch, 5).storage_pressure, 0);
}

TEST(SignalRules, TasksThatWaitForTheCpuArePressureOnIt) {
  ExporterWatch watch(NodeExporter());
  for (const int seconds : {0, 5}) {
    Read(watch, absl::StrCat("node_pressure_cpu_waiting_seconds_total ", seconds * 0.4, "\n"), seconds);
  }
  EXPECT_EQ(Effects(watch, 5), (NodeEffects{1, 0, false, 0.4}));
}

TEST(SignalRules, ABuiltInRuleThatIsDisabledHasNoEffect) {
  ExporterConfig config = NodeExporter();
  config.disable = {"md_rebuild"};
  ExporterWatch watch(config);
  Read(watch, "node_md_state{state=\"recovering\"} 1\nnode_md_state{state=\"inactive\"} 1\n", 0);
  EXPECT_EQ(Effects(watch, 0), (NodeEffects{1, 0, true}));
}

TEST(SignalRules, TheNamesOfBuiltInRulesAreThoseOfTheConfiguration) {
  std::set<std::pair<ExporterKind, std::string>> listed;
  for (const BuiltInRule& rule : kBuiltInRules) listed.emplace(rule.kind, rule.name);
  std::set<std::pair<ExporterKind, std::string>> made;
  for (const ExporterKind kind : {ExporterKind::kNodeExporter, ExporterKind::kDcgm, ExporterKind::kHami}) {
    for (const SignalRule& rule : RulesOf(OfKind(kind))) made.emplace(kind, rule.name);
  }
  EXPECT_EQ(made, listed);
}

}  // namespace
}  // namespace penstock
