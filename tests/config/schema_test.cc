#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "config/config.h"
#include "config/keys.h"
#include "kvmodel/step_coefficients.h"

namespace penstock {
namespace {

using nlohmann::json;

json Schema() {
  std::ifstream file(PENSTOCK_SOURCE_DIR "/config/schema.json");
  return json::parse(file);
}

json SectionIn(const json& schema, const std::string& name) {
  return name == "root" ? schema : schema.at("$defs").at(name);
}

TEST(Schema, HasExactlyTheKeysThatTheLoaderKnows) {
  const json schema = Schema();
  for (const Section& section : Sections()) {
    const json part = SectionIn(schema, std::string(section.name));
    std::set<std::string> documented;
    if (part.contains("properties")) {
      for (const auto& [key, value] : part.at("properties").items()) documented.insert(key);
    }
    std::set<std::string> known;
    for (const absl::string_view key : section.keys) known.insert(std::string(key));
    EXPECT_EQ(documented, known) << section.name;
    if (known.empty()) continue;
    EXPECT_EQ(part.at("additionalProperties"), false) << section.name;
  }
}

TEST(Schema, HasNoSectionThatTheLoaderDoesNotKnow) {
  std::set<std::string> known;
  for (const Section& section : Sections()) known.insert(std::string(section.name));
  const json schema = Schema();
  for (const auto& [name, part] : schema.at("$defs").items()) {
    EXPECT_TRUE(known.count(name) > 0 || !part.contains("properties")) << name;
  }
}

TEST(Schema, EveryKeyIsDescribed) {
  for (const Section& section : Sections()) {
    const json part = SectionIn(Schema(), std::string(section.name));
    if (!part.contains("properties")) continue;
    for (const auto& [key, value] : part.at("properties").items()) {
      EXPECT_TRUE(value.contains("description") || value.contains("$ref")) << section.name << "." << key;
    }
  }
}

TEST(Schema, NamesTheGpuKindsThatAreBuiltIn) {
  const json names = Schema().at("$defs").at("gpu").at("properties").at("kind").at("anyOf")[0].at("enum");
  std::set<std::string> documented(names.begin(), names.end());
  std::set<std::string> known;
  for (const GpuKind& kind : GpuKinds()) known.insert(kind.name);
  EXPECT_EQ(documented, known);
}

TEST(Schema, EveryReferenceLeadsSomewhere) {
  const json schema = Schema();
  for (const json& value : schema.flatten()) {
    if (!value.is_string()) continue;
    const std::string text = value.get<std::string>();
    if (text.rfind("#/$defs/", 0) != 0) continue;
    EXPECT_TRUE(schema.at("$defs").contains(text.substr(8))) << text;
  }
}

}  // namespace
}  // namespace penstock
