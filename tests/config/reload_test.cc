// What a reload needs to know of a configuration: its files, the keys that need a restart, keys as digests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "config/key_digest.h"
#include "tests/config/load_helpers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config Loaded(const std::string& more) { return Parsed(WithReplica(more)); }

TEST(Keys, AreKeptAsDigestsOnly) {
  const Config config = Loaded("tenants: [{name: t, keys: [team-key]}]\n");
  EXPECT_THAT(config.tenants[0].keys, ElementsAre(KeyDigest("team-key")));
  EXPECT_EQ(KeyDigest("abc").substr(0, 4), "\xba\x78\x16\xbf");
}

TEST(Keys, MayBeGivenAsDigests) {
  const Config config = Loaded(
      "tenants: [{name: t, keys: [\"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"]}]\n");
  EXPECT_THAT(config.tenants[0].keys, ElementsAre(KeyDigest("abc")));
  const auto cut =
      ParseConfig("replicas: [{url: http://h:1}]\ntenants: [{name: t, keys: [\"sha256:ba78\"]}]\n", "file.yml");
  EXPECT_THAT(std::string(cut.status().message()),
              HasSubstr("file.yml:2:28: tenants[0].keys[0]: sha256: needs the 64"));
}

TEST(Reload, KnowsEveryFileThatTheConfigurationWasReadFrom) {
  const std::filesystem::path folder = ::testing::TempDir() + "sources_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "team.key") << "hush\n";
  std::ofstream(folder / "a.yml") << "replicas: [{url: http://h:1}]\ntenants: [{name: t, keys: [\"file:team.key\"]}]\n";
  const auto config = LoadConfigFile((folder / "a.yml").string());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->sources, ElementsAre((folder / "a.yml").string(), (folder / "team.key").string()));
  std::filesystem::remove_all(folder);
}

TEST(Reload, NamesTheKeysThatNeedARestart) {
  const Config running = Loaded("");
  EXPECT_THAT(KeysThatNeedRestart(running, Loaded("limits: {max_connections: 5}\ntenant_header: x-team\n")), IsEmpty());
  EXPECT_THAT(KeysThatNeedRestart(running, Loaded("listen: 127.0.0.1:1\nadmin_listen: 127.0.0.1:2\nthreads: 3\n"
                                                  "policy: round_robin\nlog: {path: /tmp/x}\n")),
              ElementsAre("listen", "admin_listen", "threads", "policy", "log.path"));
}

}  // namespace
}  // namespace penstock
