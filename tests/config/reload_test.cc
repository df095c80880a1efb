// Parts of a configuration that a reload uses: its files, the keys that need a restart, API keys as digests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "config/values/key_digest.h"
#include "tests/config/load_helpers.h"
#include "tests/source_dir.h"

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

TEST(Reload, NamesTheClassesWhoseRankNeedsARestart) {
  const std::string gold = "gold: {ttft: 500ms, tpot: 20ms, queue: 1s}";
  const std::string slow = "slow: {ttft: 2d, tpot: 1s, queue: 1s}";
  const Config running = Loaded("classes: {standard: {ttft: 2s}}\n");
  EXPECT_THAT(KeysThatNeedRestart(running, Loaded("classes: {standard: {ttft: 3s}, " + slow + "}\n")), IsEmpty());
  EXPECT_THAT(KeysThatNeedRestart(running, Loaded("classes: {standard: {ttft: 3s}, " + gold + "}\n")),
              ElementsAre("the rank of the new class gold (last)"));
  const Config ranked = Loaded("classes: {" + gold + "}\n");
  EXPECT_THAT(KeysThatNeedRestart(ranked, Loaded("classes: {gold: {ttft: 5s, tpot: 20ms, queue: 1s}}\n")),
              ElementsAre("the rank of the class gold"));
  EXPECT_THAT(KeysThatNeedRestart(ranked, running), IsEmpty());
}

std::string Pem(const std::string& name) { return SourcePath("tests/data/tls/" + name); }

TEST(Tls, CertificateAndKeyAreReadAndBelongTogether) {
  const Config config = Loaded("tls: {certificate: " + Pem("server.pem") + ", key: " + Pem("server.key") + "}\n");
  ASSERT_TRUE(config.tls.has_value());
  EXPECT_THAT(config.tls->certificate.text, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(config.sources, ElementsAre("f.yaml", Pem("server.pem"), Pem("server.key")));
  EXPECT_THAT(PrintConfig(config), ::testing::Not(HasSubstr("BEGIN")));
}

TEST(Tls, WhatCannotWorkIsAFinding) {
  const auto findings = [](const std::string& tls) { return FindingsOf(WithReplica("tls: {" + tls + "}\n")); };
  EXPECT_THAT(findings("certificate: " + Pem("server.pem") + ", key: " + Pem("client.key")),
              HasSubstr("tls.key: " + Pem("client.key") + " is not the key of"));
  EXPECT_THAT(findings("certificate: " + Pem("server.key") + ", key: " + Pem("server.key")),
              HasSubstr("holds no PEM certificate"));
  EXPECT_THAT(findings("certificate: " + Pem("server.pem") + ", key: " + Pem("server.pem")),
              HasSubstr("holds no PEM key"));
  EXPECT_THAT(findings("certificate: " + Pem("server.pem")), HasSubstr("tls.key: is required"));
  EXPECT_THAT(findings("certificate: /nowhere, key: " + Pem("server.key")), HasSubstr("cannot read /nowhere"));
  EXPECT_THAT(FindingsOf("replicas: [{url: http://h:1, tls: {ca: " + Pem("ca.pem") + "}}]\n"),
              HasSubstr("replicas[0].tls: needs a url that starts with https://"));
  EXPECT_THAT(FindingsOf("replicas: [{url: https://h:1, tls: {certificate: " + Pem("client.pem") + "}}]\n"),
              HasSubstr("replicas[0].tls.key: is required"));
}

TEST(Tls, TheAdminListenerHasItsOwn) {
  const std::string tls = "admin_tls: {certificate: " + Pem("server.pem") + ", key: " + Pem("server.key") + "}\n";
  const Config config = Loaded("admin_listen: 127.0.0.1:9090\n" + tls);
  EXPECT_FALSE(config.tls.has_value());
  ASSERT_TRUE(config.admin_tls.has_value());
  EXPECT_THAT(config.admin_tls->key.text, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(PrintConfig(config), HasSubstr("admin_tls: {certificate: "));
  EXPECT_THAT(FindingsOf(WithReplica(tls)), HasSubstr("admin_tls: needs admin_listen"));
}

}  // namespace
}  // namespace penstock
