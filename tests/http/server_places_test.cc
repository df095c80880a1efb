// A router whose replicas are replaced for ever: its books stay small, and each new replica is served as itself.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

constexpr int kManyReloads = 60;
// The live one, the one that left last, and a few whose last news are on their way.
constexpr size_t kMostPlaces = 12;

// Without the plain core of TestServer: the policy that users run.
struct RouterWithPolicy {
  explicit RouterWithPolicy(const std::string& url) : config(*ConfigFromUrls("127.0.0.1:0", {url})) {
    config.threads = 2;
    config.poll.interval = Duration::Milliseconds(50);
    config.log.path = "/dev/null";
    config.replicas[0].engine = "openai";
    config.replicas[0].model = "m";
    server = *RouterServer::Create(config, {});
    EXPECT_TRUE(server->Start().ok());
  }
  ~RouterWithPolicy() { server->Stop(); }
  // The only replica has this name and this engine from now on, and answers.
  void Replace(const std::string& id, const std::string& url) {
    config.replicas[0].id = id;
    config.replicas[0].url = url;
    EXPECT_TRUE(server->Reload(config).ok());
    EXPECT_TRUE(Answers()) << id;
  }
  bool Answers() const {
    return Eventually([this] {
      const auto wire = Wire::Connect(server->port());
      wire->Send(StreamRequest());
      return ReadMessage(*wire).status() == 200;
    });
  }

  Config config;
  std::unique_ptr<RouterServer> server;
};

TEST(ServerPlaces, AReloadStormLeavesNoTombstones) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 2); });
  RouterWithPolicy router(engine.url());
  ASSERT_TRUE(router.Answers());
  for (int i = 0; i < kManyReloads; ++i) router.Replace(absl::StrCat("replica-", i), engine.url());
  const CoreView view = router.server->View();
  EXPECT_GE(view.replicas.size(), 1u);
  EXPECT_LE(view.replicas.size(), kMostPlaces);
  EXPECT_LE(view.pools.size(), kMostPlaces);
  const std::string metrics = router.server->Metrics();
  EXPECT_NE(metrics.find(absl::StrCat("replica=\"replica-", kManyReloads - 1, "\"")), std::string::npos);
  EXPECT_EQ(metrics.find("replica=\"\""), std::string::npos);
  EXPECT_EQ(metrics.find("gpu=\"\""), std::string::npos);
}

TEST(ServerPlaces, AStreamOfAReplicaThatLeftKeepsItsPlace) {
  Latch began, go;
  ScriptedEngine first([&](EngineCall& call) { HoldStream(call, began, go); });
  ScriptedEngine second([](EngineCall& call) { AnswerStream(call, 2); });
  RouterWithPolicy router(first.url());
  ASSERT_TRUE(Eventually([&] { return router.server->replicas_up() == 1; }));
  const auto client = Wire::Connect(router.server->port());
  client->Send(StreamRequest());
  ASSERT_TRUE(began.Wait());
  const std::string name = router.config.replicas[0].id;
  for (int i = 0; i < 8; ++i) router.Replace(absl::StrCat("replica-", i), second.url());
  const CoreView view = router.server->View();
  ASSERT_FALSE(view.replicas.empty());
  EXPECT_EQ(view.replicas[0].running, 1);
  EXPECT_EQ(view.replicas[0].name, name);
  go.Set();
  EXPECT_TRUE(ReadMessage(*client).complete);
}

}  // namespace
}  // namespace penstock
