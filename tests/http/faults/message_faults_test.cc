// Engines that fail within an answer in Anthropic's dialect.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

TEST(MessageFaults, AMessageThatBreaksOffBehindItsOpeningIsTriedElsewhere) {
  std::atomic<int> lost{0};
  const auto script = [&](EngineCall& call) {
    const std::string name = lost++ == 0 ? "first" : "second";
    call.BeginStream();
    call.Event(R"({"type":"message_start","message":{"id":")" + name + R"(","usage":{"input_tokens":3}}})");
    call.Event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
    if (name == "first") return call.wire.Close();
    call.Event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}})");
    call.Event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}})");
    call.Event(R"({"type":"message_stop"})");
    call.wire.Send("0\r\n\r\n");
  };
  ScriptedEngine a(script, kVllmPages), b(script, kVllmPages);
  TestServer router({a.url(), b.url()}, [](Config& config) {
    for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
  });
  ASSERT_TRUE(router.WaitUp(2));
  const WireMessage answer = router.Ask(PostJson(
      "/v1/messages", R"({"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"a"}]})"));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(lost, 2);
  EXPECT_EQ(answer.body.find("first"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("second"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("message_stop"), std::string::npos) << answer.body;
}

}  // namespace
}  // namespace penstock
