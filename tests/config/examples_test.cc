#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "config/config.h"
#include "config/reference/reference.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// full.yaml reads secrets, so each example is loaded from a copy beside them.
class Examples : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("ENGINE_KEY", "engine-key", 1);
    setenv("TEAM_A_KEY", "team-a-key", 1);
    folder_ = fs::temp_directory_path() / (std::string("penstock-examples-") + GetParam());
    fs::create_directories(folder_);
    fs::copy(SourcePath("config/examples"), folder_,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::ofstream(folder_ / "team-b.key") << "team-b-key\n";
    const fs::path tls = SourcePath("tests/data/tls");
    for (const auto& [from, to] : std::map<const char*, const char*>{
             {"server.pem", "server.pem"}, {"server.key", "server.key"}, {"ca.pem", "clients.pem"}}) {
      fs::copy_file(tls / from, folder_ / to, fs::copy_options::overwrite_existing);
    }
    fs::copy_file(tls / "ca.pem", folder_ / "engines.pem", fs::copy_options::overwrite_existing);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_P(Examples, LoadWithoutFindingsAndPrintWhatLoadsAgain) {
  const std::string path = (folder_ / GetParam()).string();
  const absl::StatusOr<Config> config = LoadConfigFile(path);
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string printed = PrintConfig(*config);
  const absl::StatusOr<Config> again = ParseConfig(printed, path);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
  EXPECT_EQ(PrintConfig(*again), printed);
}

INSTANTIATE_TEST_SUITE_P(Files, Examples,
                         ::testing::Values("smallest.yaml", "two-engines.yaml", "colocated-a100.yaml",
                                           "threshold-gate.yaml", "full.yaml", "demo.yaml"));

TEST(ExampleFiles, AreAllTested) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(SourcePath("config/examples"))) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(files, 6);
}

TEST(ExampleFiles, TheFullOneNamesEveryKey) {
  std::ifstream file(SourcePath("config/examples/full.yaml"));
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
