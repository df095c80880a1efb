#include "backends/node/signals/exporter_watch.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "backends/node/signals/page_lines.h"
#include "tests/backends/node/exporter_pages.h"

namespace penstock {
namespace {

constexpr const char* kStalled = "node_pressure_io_stalled_seconds_total";

std::string Counter(double value) { return absl::StrCat(kStalled, " ", value, "\n"); }

TEST(ExporterWatch, ACounterDeratesOnceItsRateWasAboveTheBoundForTheTimeOfTheRule) {
  ExporterWatch watch(NodeExporter());
  for (int i = 0; i <= 2; ++i) Read(watch, Counter(4.0 * i), 5.0 * i);
  EXPECT_EQ(Effects(watch, 10).derate, 1) << "above the bound for 5 s of 10 s";
  Read(watch, Counter(12), 15);
  EXPECT_EQ(Effects(watch, 15).derate, 2);
}

TEST(ExporterWatch, AnEffectEndsOnlyAfterTheBoundWasKeptForAsLong) {
  ExporterWatch watch(OneRule(Hot(Duration::Seconds(10))));
  for (const double at : {0, 5, 10}) Read(watch, "temperature 95\n", at);
  ASSERT_EQ(Effects(watch, 10).derate, 3);
  Read(watch, "temperature 80\n", 15);
  Read(watch, "temperature 95\n", 20);
  Read(watch, "temperature 80\n", 25);
  Read(watch, "temperature 80\n", 30);
  EXPECT_EQ(Effects(watch, 30).derate, 3) << "a value that flaps ends nothing";
  Read(watch, "temperature 80\n", 35);
  EXPECT_EQ(Effects(watch, 35).derate, 1);
}

TEST(ExporterWatch, ASeriesThatAPageLacksKeepsItsEffectForAWhile) {
  ExporterWatch watch(OneRule(Hot()));
  Read(watch, "temperature 95\n", 0);
  Read(watch, "temperature NaN\n", 5);
  Read(watch, "other 1\n", 10);
  EXPECT_EQ(Effects(watch, 10).derate, 3);
  watch.TakeNews();
  Read(watch, "other 1\n", 15);
  Read(watch, "other 1\n", 20);
  EXPECT_EQ(Effects(watch, 20).derate, 1);
  const std::vector<std::string> news = watch.TakeNews();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_NE(news[0].find("is over"), std::string::npos);
}

TEST(ExporterWatch, ACounterThatFellBeganAnewAtZero) {
  NodeRuleConfig rule = Hot();
  rule.rate = true;
  rule.above = 1;
  ExporterWatch watch(OneRule(rule));
  Read(watch, "temperature 1000000\n", 0);
  Read(watch, "temperature 2\n", 5);
  EXPECT_EQ(Effects(watch, 5).derate, 1) << "0.4 per second since the restart";
  Read(watch, "temperature 12\n", 10);
  EXPECT_EQ(Effects(watch, 10).derate, 3);
}

TEST(ExporterWatch, ValuesThatAreNoNumbersHaveNoEffect) {
  ExporterWatch watch(OneRule(Hot()));
  for (const char* value : {"NaN", "+Inf", "-Inf"}) {
    Read(watch, absl::StrCat("temperature ", value, "\n"), 1);
    EXPECT_EQ(Effects(watch, 1), NodeEffects()) << value;
  }
}

TEST(ExporterWatch, ANegativeCounterHasNoRate) {
  ExporterWatch watch(NodeExporter());
  Read(watch, Counter(-1000), 0);
  for (int i = 1; i < 6; ++i) Read(watch, Counter(i % 2 == 0 ? -1000 : -1), 5.0 * i);
  EXPECT_EQ(Effects(watch, 25), NodeEffects());
}

TEST(ExporterWatch, OldSamplesHaveNoEffectAndTheWatchSaysSo) {
  ExporterWatch watch(OneRule(Hot()));
  EXPECT_TRUE(watch.IsStale(At(0))) << "nothing was read yet";
  Read(watch, "temperature 95\n", 0);
  EXPECT_EQ(Effects(watch, 17).derate, 3);
  EXPECT_FALSE(watch.IsStale(At(17)));
  EXPECT_EQ(Effects(watch, 17.1), NodeEffects());
  EXPECT_TRUE(watch.IsStale(At(17.1)));
}

TEST(ExporterWatch, AWatchThatWasStaleStartsAfresh) {
  ExporterWatch watch(OneRule(Hot(Duration::Seconds(10))));
  for (const double at : {0, 5, 10}) Read(watch, "temperature 95\n", at);
  Read(watch, "temperature 95\n", 1000);
  EXPECT_EQ(Effects(watch, 1000), NodeEffects()) << "the bound was not seen broken in between";
}

TEST(ExporterWatch, TimeStampsOfAPageAreIgnored) {
  NodeRuleConfig rule = Hot();
  rule.rate = true;
  rule.above = 1;
  ExporterWatch watch(OneRule(rule));
  Read(watch, "temperature 0 9999999999999\n", 0);
  Read(watch, "temperature 10 1\n", 5);
  EXPECT_EQ(Effects(watch, 5).derate, 3);
}

TEST(ExporterWatch, TwoPagesAtOneTimeMakeNoRate) {
  NodeRuleConfig rule = Hot();
  rule.rate = true;
  rule.above = 1;
  ExporterWatch watch(OneRule(rule));
  Read(watch, "temperature 0\n", 5);
  Read(watch, "temperature 1000\n", 5);
  EXPECT_EQ(Effects(watch, 5), NodeEffects());
}

TEST(ExporterWatch, ARaidInRebuildDeratesAndPressesOnStorage) {
  ExporterWatch watch(NodeExporter());
  Read(watch,
       "node_md_state{device=\"md0\",state=\"recovering\"} 1\nnode_md_state{device=\"md0\",state=\"active\"} 0\n", 0);
  EXPECT_EQ(Effects(watch, 0), (NodeEffects{1.5, 0.5, false}));
}

TEST(ExporterWatch, AnInactiveRaidClosesTheNode) {
  ExporterWatch watch(NodeExporter());
  Read(watch, "node_md_state{device=\"md0\",state=\"inactive\"} 1\n", 0);
  EXPECT_TRUE(Effects(watch, 0).closed);
}

TEST(ExporterWatch, ABusyDiskPressesOnStorageInProportion) {
  ExporterWatch watch(NodeExporter());
  const std::string disk = "node_disk_io_time_seconds_total{device=\"nvme0n1\"} ";
  Read(watch, absl::StrCat(disk, "0\n"), 0);
  Read(watch, absl::StrCat(disk, "4\n"), 5);
  EXPECT_DOUBLE_EQ(Effects(watch, 5).storage_pressure, 0.8);
}

TEST(ExporterWatch, AFatalXidClosesItsGpuOnlyAndAnApplicationFaultNone) {
  ExporterConfig config = NodeExporter();
  config.kind = ExporterKind::kDcgm;
  ExporterWatch watch(config);
  Read(watch, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 79\nDCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 13\n", 0);
  EXPECT_TRUE(watch.EffectsOn({.number = "0"}, At(0)).closed);
  EXPECT_FALSE(watch.EffectsOn({.number = "1"}, At(0)).closed);
  EXPECT_FALSE(watch.EffectsOn({}, At(0)).closed);
}

TEST(ExporterWatch, ThermalThrottlingDeratesAndAnIdleClockDoesNot) {
  ExporterConfig config = NodeExporter();
  config.kind = ExporterKind::kDcgm;
  ExporterWatch watch(config);
  const auto page = [](int idle, int hot) {
    return absl::StrCat("DCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"0\"} ", idle,
                        "\nDCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"1\"} ", hot, "\n");
  };
  for (const double at : {0, 5, 10}) Read(watch, page(0x1, 0x41), at);
  EXPECT_EQ(watch.EffectsOn({.number = "0"}, At(10)).derate, 1);
  EXPECT_EQ(watch.EffectsOn({.number = "1"}, At(10)).derate, 1.5);
}

TEST(ExporterWatch, APageWithTooManySamplesOfRulesCountsAsNeverRead) {
  ExporterWatch watch(OneRule(Hot()));
  std::string page;
  for (size_t i = 0; i <= ExporterWatch::kMostSeries; ++i) absl::StrAppend(&page, "temperature{n=\"", i, "\"} 95\n");
  EXPECT_FALSE(Read(watch, page, 0));
  EXPECT_EQ(Effects(watch, 0), NodeEffects());
  EXPECT_FALSE(Read(watch, absl::StrCat("temperature{n=\"", std::string(2000, 'x'), "\"} 95\n"), 1));
}

TEST(ExporterWatch, TheLogHearsOnceThatARuleBeginsAndOnceThatItIsOver) {
  ExporterWatch watch(OneRule(Hot()));
  Read(watch, "temperature 95\n", 0);
  Read(watch, "temperature 96\n", 5);
  EXPECT_EQ(watch.TakeNews(), std::vector<std::string>{"begins: temperature above 90: derate 3 (value 95)"});
  Read(watch, "temperature 20\n", 10);
  EXPECT_EQ(watch.TakeNews(), std::vector<std::string>{"is over: temperature above 90: derate 3 (value 20)"});
}

TEST(PageLines, GiveWholeLinesHoweverThePageIsCut) {
  const std::string page = "a 1\nbb 2\n\nccc 3\n";
  for (size_t size = 1; size <= page.size(); ++size) {
    PageLines lines;
    std::string seen;
    const auto take = [&seen](absl::string_view text) {
      seen += std::string(text);
      return text.back() == '\n';
    };
    for (size_t at = 0; at < page.size(); at += size) {
      EXPECT_TRUE(lines.Add(absl::string_view(page).substr(at, size), take)) << size;
    }
    EXPECT_TRUE(lines.whole());
    EXPECT_EQ(seen, page) << size;
    EXPECT_TRUE(lines.Add("dddd", take));
    EXPECT_FALSE(lines.whole()) << "a cut page";
  }
}

TEST(PageLines, EndAPageOrALineThatIsTooLarge) {
  const auto take = [](absl::string_view) { return true; };
  PageLines line;
  EXPECT_FALSE(line.Add(std::string(PageLines::kLongestLine + 1, 'x'), take));
  PageLines page;
  const std::string many(1 << 20, '\n');
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(page.Add(many, take));
  EXPECT_FALSE(page.Add("\n", take));
}

}  // namespace
}  // namespace penstock
