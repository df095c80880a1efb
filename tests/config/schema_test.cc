#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "config/reference/reference.h"
#include "kvmodel/step_coefficients.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using nlohmann::json;

json SampleSchema() { return json::parse(ConfigSchema({"penstock", "round_robin"})); }

TEST(Schema, EveryKeyIsDescribedAndNoOtherIsAllowed) {
  const json schema = SampleSchema();
  std::vector<json> sections = {schema};
  for (const json& part : schema.at("$defs")) sections.push_back(part);
  for (const json& section : sections) {
    if (!section.contains("properties")) continue;
    EXPECT_EQ(section.at("additionalProperties"), false) << section;
    for (const auto& [key, value] : section.at("properties").items()) {
      EXPECT_GT(value.at("description").get<std::string>().size(), 4u) << key;
    }
  }
}

TEST(Schema, NamesTheGpuKindsThatAreBuiltIn) {
  const json names = SampleSchema().at("$defs").at("gpu").at("properties").at("kind").at("anyOf")[0].at("enum");
  std::set<std::string> documented(names.begin(), names.end());
  std::set<std::string> known;
  for (const GpuKind& kind : GpuKinds()) known.insert(kind.name);
  EXPECT_EQ(documented, known);
}

TEST(Schema, NamesThePoliciesOfTheProgram) {
  const json names = SampleSchema().at("properties").at("policy").at("anyOf")[0].at("enum");
  EXPECT_EQ(names, json({"penstock", "round_robin"}));
}

TEST(Schema, EveryReferenceLeadsSomewhere) {
  const json schema = SampleSchema();
  int references = 0;
  for (const json& value : schema.flatten()) {
    if (!value.is_string()) continue;
    const std::string text = value.get<std::string>();
    if (text.rfind("#/$defs/", 0) != 0) continue;
    EXPECT_TRUE(schema.at("$defs").contains(text.substr(8))) << text;
    ++references;
  }
  EXPECT_GT(references, 40);
}

// The defaults of a section as a mapping.
json DefaultsOf(const json& section) {
  json defaults = json::object();
  for (const auto& [key, value] : section.at("properties").items()) {
    if (value.contains("default")) defaults[key] = value.at("default");
  }
  return defaults;
}

TEST(Schema, ItsDefaultsAreTheValuesOfAFileThatLeavesTheKeysOut) {
  const json schema = SampleSchema();
  json file = DefaultsOf(schema);
  for (const char* name : {"limits", "poll", "log"}) file[name] = DefaultsOf(schema.at("$defs").at(name));
  json replica = DefaultsOf(schema.at("$defs").at("replica"));
  replica["url"] = "http://h:1";
  file["replicas"] = json::array({replica});
  // JSON is YAML.
  EXPECT_EQ(PrintConfig(Parsed(file.dump())), PrintConfig(Parsed(WithReplica(""))));
  EXPECT_GE(file.at("limits").size(), 19u);
}

TEST(Reference, NamesEverySectionEveryKeyAndTheRestarts) {
  const std::string text = ConfigReference({"penstock"});
  const json schema = SampleSchema();
  for (const auto& [name, part] : schema.at("$defs").items()) {
    if (!part.contains("properties")) continue;
    EXPECT_NE(text.find("\n## " + name + "\n"), std::string::npos) << name;
    for (const auto& [key, value] : part.at("properties").items()) {
      EXPECT_NE(text.find("\n| `" + key + "` | "), std::string::npos) << name << "." << key;
    }
  }
  EXPECT_NE(text.find("| `threads` | whole number, 0 to 1024 | `0` | Threads for connections; 0: one per core. "
                      "One more watches the fleet. **Restart.** |"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock
