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
  struct {
    size_t size;
    Bytes most;
    bool fits;
  } const cases[] = {{size_t{1} << 20, Bytes(4 << 20), true},
                     {size_t{3} << 20, Bytes(4 << 20), true},
                     {size_t{5} << 20, Bytes(4 << 20), false},
                     {size_t{31} << 20, LimitsConfig().max_answer, true},
                     {size_t{33} << 20, LimitsConfig().max_answer, false}};
  for (const auto& each : cases) {
    const std::string text(each.size, 'x');
    Start(
        [text](EngineCall& call) {
          call.BeginStream();
          call.Event(DeltaJson(text));
          call.Event(FinishJson());
          call.EndStream();
        },
        [&](LimitsConfig& limits) { limits.max_answer = each.most; });
    const WireMessage answer = router_->Ask(StreamRequest());
    EXPECT_EQ(answer.status(), each.fits ? 200 : 502);
    EXPECT_EQ(answer.body.size() > each.size, each.fits);
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
