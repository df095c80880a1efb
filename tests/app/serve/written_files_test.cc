#include "app/serve/written_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WrittenFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "state/files");
    for (const char* name : {"router.yaml", "server.key", "other.log", "state/jobs.db"}) {
      std::ofstream(folder_ / name) << "precious\n";
    }
    config_.sources = {(folder_ / "router.yaml").string(), (folder_ / "server.key").string()};
    config_.state.path = (folder_ / "state").string();
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Harm(const std::string& name) const { return HarmOfLog((folder_ / name).string(), config_); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("written_files_" + std::to_string(getpid()));
  Config config_;
};

TEST_F(WrittenFiles, ALogMayNotBeAFileOfTheConfiguration) {
  EXPECT_THAT(Harm("router.yaml"), HasSubstr("that the configuration is read from"));
  EXPECT_THAT(Harm("server.key"), HasSubstr("server.key that the configuration is read from"));
  EXPECT_THAT(Harm("state/../server.key"), HasSubstr("server.key that the configuration is read from"));
}

TEST_F(WrittenFiles, LinksHideNothing) {
  fs::create_symlink("router.yaml", folder_ / "soft");
  fs::create_hard_link(folder_ / "server.key", folder_ / "hard");
  fs::create_hard_link(folder_ / "state/jobs.db", folder_ / "hard-db");
  fs::create_symlink("state/not-there-yet", folder_ / "dangling");
  fs::create_directory_symlink("state", folder_ / "way");
  for (const char* name : {"soft", "hard"}) EXPECT_THAT(Harm(name), HasSubstr("configuration is read from")) << name;
  for (const char* name : {"hard-db", "dangling", "way/x.log"}) {
    EXPECT_THAT(Harm(name), HasSubstr("is in the folder of state.path")) << name;
  }
}

TEST_F(WrittenFiles, ALogMayNotBeInTheStateFolder) {
  for (const char* name : {"state/jobs.db", "state/new.log", "state/files/x", "state"}) {
    EXPECT_THAT(Harm(name), HasSubstr("is in the folder of state.path")) << name;
  }
  config_.state.path = (folder_ / "later").string();
  EXPECT_THAT(Harm("later/x.log"), HasSubstr("is in the folder of state.path"));
}

TEST_F(WrittenFiles, OtherFilesAndStderrAreFine) {
  for (const char* name : {"other.log", "new.log", "state.log", "missing/x.log"}) EXPECT_EQ(Harm(name), "") << name;
  EXPECT_EQ(HarmOfLog("", config_), "");
  EXPECT_EQ(HarmOfLog("/dev/null", config_), "");
}

}  // namespace
}  // namespace penstock
