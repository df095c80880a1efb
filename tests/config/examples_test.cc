#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/reference/reference.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = SourcePath("config/examples");

class Examples : public ::testing::TestWithParam<const char*> {};

TEST_P(Examples, LoadAsTheyAreAndPrintWhatLoadsAgain) {
  const std::string path = (kFolder / GetParam()).string();
  const absl::StatusOr<Config> config = LoadConfigFile(path);
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string printed = PrintConfig(*config);
  const absl::StatusOr<Config> again = ParseConfig(printed, path);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
  EXPECT_EQ(PrintConfig(*again), printed);
  EXPECT_THAT(again->keys_without_effect, ::testing::IsEmpty()) << printed;
}

INSTANTIATE_TEST_SUITE_P(Files, Examples,
                         ::testing::Values("smallest.yaml", "two-engines.yaml", "colocated-a100.yaml",
                                           "threshold-gate.yaml", "full.yaml", "demo.yaml", "pairs.yaml"));

TEST(ExampleFiles, AreAllTested) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(files, 7);
}

TEST(ExampleFiles, TheFullOneNamesEveryKey) {
  std::ifstream file(kFolder / "full.yaml");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const nlohmann::json schema = nlohmann::json::parse(ConfigSchema({}));
  int keys = 0;
  const auto expect_keys_of = [&](const std::string& section, const nlohmann::json& part) {
    if (!part.contains("properties")) return;
    for (const auto& [key, value] : part.at("properties").items()) {
      EXPECT_NE(text.find(key + ":"), std::string::npos) << section << "." << key;
      ++keys;
    }
  };
  expect_keys_of("root", schema);
  for (const auto& [name, part] : schema.at("$defs").items()) expect_keys_of(name, part);
  EXPECT_GT(keys, 100);
}

}  // namespace
}  // namespace penstock
