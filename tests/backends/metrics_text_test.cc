#include "backends/dialect/metrics_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

std::vector<MetricSample> All(absl::string_view text, int* malformed = nullptr) {
  MetricsReader reader(text);
  std::vector<MetricSample> samples;
  while (auto sample = reader.Next()) samples.push_back(*sample);
  if (malformed != nullptr) *malformed = reader.malformed();
  return samples;
}

TEST(MetricsText, NamesLabelsAndValues) {
  const auto samples = All("# HELP a b\n# TYPE a gauge\na 1\nb{x=\"y\",z=\"\"} 2.5e3\nc{} -0.5\n");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[0].value, 1);
  EXPECT_EQ(samples[1].name, "b");
  EXPECT_EQ(samples[1].Label("x"), "y");
  EXPECT_EQ(samples[1].Label("z"), "");
  EXPECT_EQ(samples[1].Label("w"), std::nullopt);
  EXPECT_EQ(samples[1].value, 2500);
  EXPECT_EQ(samples[2].value, -0.5);
}

TEST(MetricsText, QuotedLabelsMayHoldEverything) {
  const std::string text = R"(a{k="x}\"y\\,b=\n",second="2"} 7)";
  const auto samples = All(text);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].Label("k"), "x}\"y\\,b=\n");
  EXPECT_EQ(samples[0].Label("second"), "2");
  EXPECT_EQ(samples[0].value, 7);
}

TEST(MetricsText, NotANumberAndInfinityAreValues) {
  const auto samples = All("a NaN\nb +Inf\nc -Inf\n");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_TRUE(std::isnan(samples[0].value));
  EXPECT_EQ(samples[1].value, INFINITY);
  EXPECT_EQ(samples[2].value, -INFINITY);
}

TEST(MetricsText, OpenMetricsTimeStampsExemplarsAndEndAreAccepted) {
  const auto samples = All("a_total{x=\"1\"} 5 1700000000.5 # {trace=\"q\"} 1 2\nb 6 1700000000\r\n# EOF\n");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].value, 5);
  EXPECT_EQ(samples[1].value, 6);
}

TEST(MetricsText, BrokenLinesAreCountedAndPassedOver) {
  int malformed = 0;
  const auto samples = All("a\nb{x=\"1 2\nc{x=\"1\"}\nd x\n{} 1\ne 1", &malformed);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].name, "e");
  EXPECT_EQ(malformed, 5);
}

TEST(MetricsText, ARecordedScrapeHasOnlySamplesAndComments) {
  int malformed = 0;
  const auto text = RecordedBody("get-metrics-busy");
  EXPECT_GT(All(text, &malformed).size(), 10u);
  EXPECT_EQ(malformed, 0);
}

}  // namespace
}  // namespace penstock
