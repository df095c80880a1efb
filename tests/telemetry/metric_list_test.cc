#include "router/telemetry/registry/metric_list.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

// Type, help and label names of each family of an exposition, as the metric list has them.
struct Exposed {
  std::string type;
  std::string help;
  std::set<std::string> labels;
};

std::set<std::string> LabelNamesOf(const std::string& sample) {
  std::set<std::string> names;
  const size_t open = sample.find('{');
  if (open == std::string::npos) return names;
  for (size_t at = open + 1, equals = 0; (equals = sample.find("=\"", at)) != std::string::npos;) {
    const std::string name = sample.substr(at, equals - at);
    if (name != "le") names.insert(name);
    at = sample.find('"', equals + 2) + 2;
  }
  return names;
}

std::map<std::string, Exposed> ExposedFamilies(const std::string& text) {
  std::map<std::string, Exposed> families;
  std::string family;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (absl::StartsWith(line, "# HELP ")) families[family = words.at(2)].help = words.at(3);
    if (absl::StartsWith(line, "# TYPE ")) families[family = words.at(2)].type = words.at(3);
    if (!line.empty() && line[0] != '#') families[family].labels.merge(LabelNamesOf(line));
  }
  return families;
}

std::vector<Metric> AllMetrics() {
  std::vector<Metric> all(std::begin(kRouterMetrics), std::end(kRouterMetrics));
  all.insert(all.end(), std::begin(kNodeMetrics), std::end(kNodeMetrics));
  all.insert(all.end(), std::begin(kHandoverMetrics), std::end(kHandoverMetrics));
  all.insert(all.end(), std::begin(kKvEventMetrics), std::end(kKvEventMetrics));
  return all;
}

TEST(MetricList, HasExactlyTheMetricsOfTheExposition) {
  constexpr const char* kTypes[] = {"counter", "gauge", "histogram"};
  std::map<std::string, Exposed> exposed = ExposedFamilies(SampleExposition());
  for (const Metric& metric : AllMetrics()) {
    const std::string name(metric.name);
    ASSERT_EQ(exposed.count(name), 1u) << name;
    const Exposed& family = exposed.at(name);
    EXPECT_EQ(family.type, kTypes[static_cast<size_t>(metric.type)]) << name;
    EXPECT_EQ(family.help, metric.help) << name;
    EXPECT_EQ(absl::StrJoin(family.labels, " "), metric.labels) << name;
    exposed.erase(name);
  }
  EXPECT_TRUE(exposed.empty()) << exposed.begin()->first;
}

TEST(MetricList, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Metric& metric : AllMetrics()) EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
}

}  // namespace
}  // namespace penstock
