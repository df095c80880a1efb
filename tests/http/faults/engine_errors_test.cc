// The error that a client gets when its engine failed.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(EngineErrors, AnErrorIsToldAsTheEngineSaidItWhereTheOtherReplicaIsDown) {
  ScriptedEngine broken([](EngineCall& call) { call.Answer(500, R"({"error":{"message":"boom"}})"); });
  auto other = std::make_unique<ScriptedEngine>([](EngineCall& call) { call.Answer(200, R"({"choices":[{}]})"); });
  TestServer router({broken.url(), other->url()});
  ASSERT_TRUE(router.WaitUp(2));
  other.reset();
  WireMessage answer;
  EXPECT_TRUE(Eventually([&] {
    answer = router.Chat();
    return answer.status() == 500;
  })) << answer.status();
  EXPECT_NE(answer.body.find("boom"), std::string::npos) << answer.body;
}

// Answers of status 200, with the status that the client gets.
const std::vector<std::pair<std::string, int>> kErrorsInAnswers = {
    {R"({"error":{"message":"boom","type":"server_error"}})", 502},
    {R"({"error":{"message":"boom","code":503}})", 503},
    {R"({"error":{"message":"boom","code":422}})", 422},
    {R"({"error":"boom","error_type":"validation"})", 422},
    {R"({"object":"error","message":"boom","code":400})", 400}};

TEST(EngineErrors, AnErrorOfStatus200IsAnErrorForWholeAnswersAndStreams) {
  std::atomic<size_t> next{0};
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, kErrorsInAnswers[next].first); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  for (; next < kErrorsInAnswers.size(); ++next) {
    for (const std::string& request : {StreamRequest(), std::string()}) {
      const WireMessage answer = request.empty() ? router.Chat() : router.Ask(request);
      EXPECT_EQ(answer.status(), kErrorsInAnswers[next].second) << kErrorsInAnswers[next].first;
      EXPECT_NE(answer.body.find("boom"), std::string::npos) << answer.body;
      EXPECT_EQ(answer.body.find("{\"error\":{\"message\":"), 0u) << answer.body;
    }
  }
  // The error without a status was the fault of the engine.
  EXPECT_TRUE(Eventually([&] { return router.Metric(R"(penstock_engine_errors_total{kind="server",)") >= 2; }));
}

TEST(EngineErrors, AModelThatOneEngineDeniesIsServedByAnother) {
  const auto deny = [](EngineCall& call) {
    call.Answer(404, R"({"error":{"message":"The model `m` does not exist.","type":"NotFoundError"}})");
  };
  ScriptedEngine without(deny), also_without(deny);
  ScriptedEngine with([](EngineCall& call) { call.Answer(200, R"({"choices":[{}]})"); });
  {
    TestServer router({without.url(), with.url()});
    ASSERT_TRUE(router.WaitUp(2));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(router.Chat().status(), 200);
    EXPECT_GT(without.calls(), 0);
  }
  TestServer router({without.url(), also_without.url()});
  ASSERT_TRUE(router.WaitUp(2));
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 404);
  EXPECT_NE(answer.body.find("The model `m` does not exist."), std::string::npos) << answer.body;
}

TEST(EngineErrors, AnErrorOfStatus200IsTriedElsewhere) {
  ScriptedEngine broken([](EngineCall& call) { call.Answer(200, R"({"error":{"message":"boom"}})"); });
  ScriptedEngine good([](EngineCall& call) { call.Answer(200, R"({"choices":[{}],"error":null})"); });
  TestServer router({broken.url(), good.url()}, nullptr);
  ASSERT_TRUE(router.WaitUp(2));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(router.Chat().status(), 200);
  EXPECT_GT(broken.calls(), 0);
}

}  // namespace
}  // namespace penstock
