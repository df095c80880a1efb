// Clients that leave, read slowly or read nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(EngineFaults, AClientThatLeavesAStreamClosesItsEngineConnection) {
  Latch closed;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    if (call.wire.WaitClosed()) closed.Set();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_NE(client->ReadUntil(DeltaJson("w")), std::string::npos);
  client->Close();
  EXPECT_TRUE(closed.Wait(std::chrono::milliseconds(1000)));
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
}

TEST(EngineFaults, AClientThatLeavesASilentEngineClosesItsConnection) {
  Latch called, closed;
  ScriptedEngine engine([&](EngineCall& call) {
    called.Set();
    if (call.wire.WaitClosed()) closed.Set();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", ChatBody()));
  ASSERT_TRUE(called.Wait());
  client->Close();
  EXPECT_TRUE(closed.Wait(std::chrono::milliseconds(1000)));
  EXPECT_TRUE(router.AllClosed(1));
}

TEST(EngineFaults, AClientThatLeavesWhileParkedIsForgotten) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  router.orders.hold = true;
  const auto client = router.Connect();
  client->Send(StreamRequest());
  ASSERT_TRUE(Eventually([&] { return router.book.Of<RequestArrived>().size() == 1; }));
  client->Close();
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
  EXPECT_EQ(engine.calls(), 0);
}

TEST(EngineFaults, ASlowClientDoesNotHoldUpOthers) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    const std::string big(60'000, 'x');
    for (int i = 0; i < 200; ++i) call.Event(DeltaJson(big));
    call.Event(FinishJson());
    call.EndStream();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto slow = router.Connect();
  slow->Send(StreamRequest());
  ASSERT_NE(slow->ReadUntil("HTTP/1.1 200"), std::string::npos);
  EXPECT_EQ(router.Ask(Get("/healthz")).status(), 200);
  const WireMessage answer = ReadMessage(*slow);
  EXPECT_TRUE(answer.complete);
  EXPECT_GT(answer.body.size(), 12'000'000u);
}

TEST(EngineFaults, ASlowClientGetsAWholeAnswerToItsEnd) {
  for (const size_t size : {size_t{100}, size_t{50'000}, size_t{12'000'000}}) {
    std::string answer = R"({"object":"chat.completion","choices":[{"index":0,"message":{"content":")";
    answer += std::string(size, 'x') + R"("},"finish_reason":"stop"}]})";
    ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, answer); });
    TestServer router({engine.url()});
    ASSERT_TRUE(router.WaitUp());
    const auto slow = router.Connect();
    slow->Send(PostJson("/v1/chat/completions", ChatBody()));
    ASSERT_NE(slow->ReadUntil("HTTP/1.1 200"), std::string::npos);
    EXPECT_EQ(router.Ask(Get("/healthz")).status(), 200);
    EXPECT_TRUE(ReadMessage(*slow).body == answer) << size;
  }
}

TEST(EngineFaults, AClientThatTakesNothingIsGone) {
  Latch closed;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    const std::string event = "data: " + DeltaJson(std::string(60'000, 'x')) + "\n\n";
    char size[32];
    std::snprintf(size, sizeof(size), "%zx\r\n", event.size());
    while (call.wire.Send(size + event + "\r\n")) {
    }
    closed.Set();
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.write_timeout = Duration::Milliseconds(100); });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  EXPECT_TRUE(closed.Wait());
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
}

}  // namespace
}  // namespace penstock
