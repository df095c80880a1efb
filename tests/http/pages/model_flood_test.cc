// Questions for the list of models, as many as a client likes.
#include <gtest/gtest.h>

#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(ModelList, AFloodOfQuestionsForModelsAsksTheCoreForNoView) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.poll.interval = Duration::Seconds(60); });
  ASSERT_TRUE(router.WaitUp());
  for (const std::string path : {"/v1/models", "/v1/models/m", "/api/tags", "/api/ps"}) {
    ASSERT_EQ(router.Ask(Get(path)).status(), 200) << path;
    const int before = router.orders.views;
    const auto client = router.Connect();
    for (int i = 0; i < 200; ++i) {
      client->Send(Get(path));
      ASSERT_EQ(ReadMessage(*client).status(), 200);
    }
    EXPECT_LT(router.orders.views - before, 20) << path;
  }
}

}  // namespace
}  // namespace penstock
