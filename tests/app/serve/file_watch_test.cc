#include "app/serve/file_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace penstock {
namespace {

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() : folder_(::testing::TempDir() + "file_watch_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~FileWatchTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  const std::filesystem::path folder_;
};

TEST_F(FileWatchTest, AChangeIsReportedOnceItRests) {
  const std::string path = Write("a", "one");
  FileWatch watch({path});
  EXPECT_FALSE(watch.Changed());
  Write("a", "three");
  EXPECT_FALSE(watch.Changed());
  Write("a", "and more");
  EXPECT_FALSE(watch.Changed());
  EXPECT_TRUE(watch.Changed());
  EXPECT_FALSE(watch.Changed());
}

TEST_F(FileWatchTest, ARenameAndAMovedLinkAreChanges) {
  const std::string first = Write("first", "same"), second = Write("second", "same"),
                    link = (folder_ / "link").string();
  std::filesystem::create_symlink(first, link);
  FileWatch watch({link});
  std::filesystem::remove(link);
  std::filesystem::create_symlink(second, link);
  EXPECT_FALSE(watch.Changed());
  EXPECT_TRUE(watch.Changed());
  std::filesystem::rename(first, second);
  EXPECT_FALSE(watch.Changed());
  EXPECT_TRUE(watch.Changed());
}

TEST_F(FileWatchTest, AFileThatVanishesAndComesBackIsToldTwice) {
  const std::string path = Write("a", "one");
  FileWatch watch({path});
  std::filesystem::remove(path);
  EXPECT_FALSE(watch.Changed());
  EXPECT_TRUE(watch.Changed());
  Write("a", "one again");
  EXPECT_FALSE(watch.Changed());
  EXPECT_TRUE(watch.Changed());
}

TEST_F(FileWatchTest, AChangeWhileTheFilesAreReadIsNotLost) {
  const std::string path = Write("a", "one"), included = Write("b", "two");
  FileWatch watch({path});
  watch.Remember();
  Write("a", "changed while it was read");
  watch.Watch({path, included});
  EXPECT_TRUE(watch.Changed());
  EXPECT_FALSE(watch.Changed());
}

TEST_F(FileWatchTest, AKnownStateIsNoChange) {
  const std::string path = Write("a", "one");
  FileWatch watch({path});
  Write("a", "bad");
  watch.Remember();
  EXPECT_FALSE(watch.Changed());
  EXPECT_FALSE(watch.Changed());
}

}  // namespace
}  // namespace penstock
