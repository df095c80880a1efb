// Events of streams that are longer than a read, up to the bounds of one answer and of all answers.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

std::string StreamRequest() { return PostJson("/v1/chat/completions", StreamBody()); }

class LongEvents : public ::testing::Test {
 protected:
  void Start(ScriptedEngine::Script script, const std::function<void(LimitsConfig&)>& limit) {
    engine_ = std::make_unique<ScriptedEngine>(std::move(script));
    router_ = std::make_unique<TestServer>(std::vector<std::string>{engine_->url()},
                                           [&](Config& config) { limit(config.limits); });
    ASSERT_TRUE(router_->WaitUp());
  }
  void TearDown() override {
    if (router_ == nullptr) return;
    EXPECT_TRUE(Eventually([&] { return router_->server->active_requests() == 0; }));
  }

  std::unique_ptr<ScriptedEngine> engine_;
  std::unique_ptr<TestServer> router_;
};

TEST_F(LongEvents, AnEventOfAnEngineMayBeLongButNotEndless) {
  const auto longest = Bytes(4 << 20);
  for (const size_t size : {size_t{1} << 20, size_t{3} << 20, size_t{5} << 20}) {
    const bool fits = static_cast<int64_t>(size) < longest.value();
    const std::string text(size, 'x');
    Start(
        [text](EngineCall& call) {
          call.BeginStream();
          call.Event(DeltaJson(text));
          call.Event(FinishJson());
          call.EndStream();
        },
        [&](LimitsConfig& limits) { limits.max_answer = longest; });
    const WireMessage answer = router_->Ask(StreamRequest());
    EXPECT_EQ(answer.status(), fits ? 200 : 502);
    EXPECT_EQ(answer.body.size() > size, fits);
  }
}

TEST_F(LongEvents, ALongEventTakesOfTheMemoryOfAllAnswers) {
  const std::string text(size_t{3} << 20, 'x');
  Start(
      [&](EngineCall& call) {
        call.BeginStream();
        call.Event(DeltaJson(text));
        call.Event(FinishJson());
        call.EndStream();
      },
      [](LimitsConfig& limits) { limits.max_answer_memory = Bytes(1 << 20); });
  EXPECT_EQ(router_->Ask(StreamRequest()).status(), 503);
}

}  // namespace
}  // namespace penstock
