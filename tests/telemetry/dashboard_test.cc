// The dashboard and the scrape configuration speak of metrics that exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/source_dir.h"
#include "tests/telemetry/sample_view.h"

namespace penstock {
namespace {

std::string Config(const std::string& file) { return SourcePath("config/" + file); }

std::set<std::string> ExposedNames() {
  std::set<std::string> names;
  const std::string text = SampleExposition();
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const absl::string_view name = line.substr(0, line.find_first_of("{ "));
    names.emplace(name.data(), name.size());
  }
  return names;
}

// Every penstock_... word of a text.
std::set<std::string> NamesIn(const std::string& text) {
  std::set<std::string> names;
  for (size_t at = text.find("penstock_"); at != std::string::npos; at = text.find("penstock_", at + 1)) {
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    names.insert(text.substr(at, end - at));
  }
  return names;
}

void CollectExpressions(const nlohmann::json& node, std::vector<std::string>& expressions) {
  if (node.is_object() && node.contains("expr")) expressions.push_back(node["expr"].get<std::string>());
  if (node.is_structured()) {
    for (const auto& child : node) CollectExpressions(child, expressions);
  }
}

TEST(Dashboard, EveryMetricItAsksForExists) {
  std::ifstream file(Config("grafana/penstock.json"));
  ASSERT_TRUE(file.good());
  const nlohmann::json dashboard = nlohmann::json::parse(file);
  std::vector<std::string> expressions;
  CollectExpressions(dashboard, expressions);
  ASSERT_GE(expressions.size(), 20u);
  const std::set<std::string> exposed = ExposedNames();
  for (const std::string& expression : expressions) {
    const std::set<std::string> asked = NamesIn(expression);
    EXPECT_FALSE(asked.empty()) << expression;
    for (const std::string& name : asked) EXPECT_TRUE(exposed.contains(name)) << name << " in " << expression;
  }
}

TEST(Dashboard, EveryPanelHasATitleAUnitAndItsOwnPlace) {
  std::ifstream file(Config("grafana/penstock.json"));
  const nlohmann::json dashboard = nlohmann::json::parse(file);
  std::set<std::pair<int, int>> places;
  for (const auto& panel : dashboard["panels"]) {
    EXPECT_FALSE(panel["title"].get<std::string>().empty());
    EXPECT_TRUE(panel["fieldConfig"]["defaults"].contains("unit")) << panel["title"];
    const std::pair<int, int> place(panel["gridPos"]["x"].get<int>(), panel["gridPos"]["y"].get<int>());
    EXPECT_TRUE(places.insert(place).second) << panel["title"];
  }
}

TEST(ScrapeConfiguration, PromtoolAcceptsIt) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  const std::string command = "promtool check config --syntax-only " + Config("prometheus.yml") + " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace penstock
