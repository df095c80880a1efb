// Engines that send errors, garbage or half an answer, and the status that the client gets.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

std::string CodeOf(const WireMessage& answer) {
  const auto parsed = nlohmann::json::parse(answer.body, nullptr, false);
  if (parsed.is_discarded() || !parsed.contains("error")) return "no error: " + answer.body;
  for (const char* key : {"message", "type", "param", "code"}) EXPECT_TRUE(parsed["error"].contains(key)) << key;
  return parsed["error"]["code"].is_string() ? parsed["error"]["code"].get<std::string>() : "";
}

TEST(EngineFaults, TriesAreBounded) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(503, "busy", "text/plain"); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(StreamRequest());
  EXPECT_EQ(answer.status(), 503);
  EXPECT_EQ(CodeOf(answer), "service_unavailable");
  EXPECT_EQ(answer.headers.count("retry-after"), 1u);
  EXPECT_EQ(engine.calls(), 3);
  EXPECT_TRUE(router.AllClosed(1));
}

TEST(EngineFaults, GarbageIs502WhateverItsShape) {
  const std::vector<std::function<void(EngineCall&)>> kinds = {
      [](EngineCall& call) { call.wire.Send("SSH-2.0-OpenSSH_9.2\r\n\r\n"), call.wire.Close(); },
      [](EngineCall& call) { call.Answer(200, "<html>hello</html>", "text/html"); },
      [](EngineCall& call) { call.BeginStream(), call.Chunk("data: <oops>\n\n"), call.wire.Send("0\r\n\r\n"); },
      [](EngineCall& call) { call.Answer(302, ""); },
      [](EngineCall& call) { call.BeginStream(), call.EndStream(); },
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    ScriptedEngine engine(kinds[i]);
    TestServer router({engine.url()});
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Ask(StreamRequest());
    EXPECT_EQ(answer.status(), 502) << i << ": " << answer.body;
    EXPECT_EQ(CodeOf(answer), "engine_error") << i;
    EXPECT_TRUE(router.AllClosed(1)) << i;
  }
}

// An answer that an engine sends, and the status and the reason that the client gets.
struct BrokenAnswer {
  const char* name;
  std::function<void(EngineCall&)> script;
  int status;
  const char* reason;
};
const std::vector<BrokenAnswer> kBrokenAnswers = {
    {"endless head",
     [](EngineCall& call) {
       call.wire.Send("HTTP/1.1 200 OK\r\n");
       while (call.wire.Send("x-more: " + std::string(1000, 'a') + "\r\n")) {
       }
     },
     502, "garbage"},
    {"head that never ends",
     [](EngineCall& call) { call.wire.Send("HTTP/1.1 200 OK\r\nx: y\r\n"), call.wire.WaitClosed(); }, 504, "timeout"},
    {"head of 70 KiB in one field",
     [](EngineCall& call) { call.wire.Send("HTTP/1.1 200 OK\r\nx: " + std::string(70 << 10, 'a') + "\r\n\r\n{}"); },
     502, "garbage"},
    {"too short",
     [](EngineCall& call) {
       call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{}");
       call.wire.Close();
     },
     502, "closed"},
    {"too long for its length",
     [](EngineCall& call) {
       call.wire.Send(
           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
           "16\r\n\r\n{\"choices\":[{}]}{\"a\":1}");
     },
     200, ""},
    {"an impossible length", [](EngineCall& call) { call.wire.Send("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"); },
     502, "garbage"},
    {"two lengths",
     [](EngineCall& call) { call.wire.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}\n"); },
     502, "garbage"},
    {"nothing behind the head",
     [](EngineCall& call) {
       call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
       call.wire.WaitClosed();
     },
     504, "timeout"},
    {"an empty body", [](EngineCall& call) { call.Answer(200, ""); }, 502, "garbage"},
    {"an empty object", [](EngineCall& call) { call.Answer(200, "{}"); }, 502, "garbage"},
    {"null for the choices", [](EngineCall& call) { call.Answer(200, R"({"choices":null})"); }, 502, "garbage"},
    {"no choices", [](EngineCall& call) { call.Answer(200, R"({"choices":[]})"); }, 502, "garbage"},
    {"an object for the choices", [](EngineCall& call) { call.Answer(200, R"({"choices":{}})"); }, 502, "garbage"},
    {"a part that nobody asked for", [](EngineCall& call) { call.Answer(206, R"({"choices":[{}]})"); }, 502, "garbage"},
    {"nothing, to be reset", [](EngineCall& call) { call.Answer(205, R"({"choices":[{}]})"); }, 502, "garbage"},
    {"a switch of protocols",
     [](EngineCall& call) { call.wire.Send("HTTP/1.1 101 Switching Protocols\r\n\r\n"), call.wire.WaitClosed(); }, 502,
     "garbage"},
};

TEST(EngineFaults, EveryBrokenAnswerHasAClearOutcome) {
  for (const BrokenAnswer& one : kBrokenAnswers) {
    SCOPED_TRACE(one.name);
    ScriptedEngine engine(one.script);
    TestServer router({engine.url()},
                      [](Config& config) { config.limits.first_byte_timeout = Duration::Milliseconds(300); });
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Chat();
    EXPECT_EQ(answer.status(), one.status) << answer.body;
    if (one.status != 200) {
      EXPECT_EQ(answer.headers.at("x-penstock-reason"), one.reason);
      EXPECT_EQ(CodeOf(answer), "engine_error");
    }
    EXPECT_TRUE(router.AllClosed(1));
  }
}

TEST(EngineFaults, AHeadAsLongAsAllowedIsRead) {
  ScriptedEngine engine([](EngineCall& call) {
    call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\nx: " +
                   std::string(60 << 10, 'a') + "\r\n\r\n{\"choices\":[{}]}");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Chat().status(), 200);
}

TEST(EngineFaults, AWholeAnswerThatIsNoJsonIs502) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, "oops"); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Chat().status(), 502);
}

TEST(EngineFaults, AnEnginesClientErrorIsRelayedInOpenAiShape) {
  ScriptedEngine engine(
      [](EngineCall& call) { call.Answer(422, R"({"error":"bad field","error_type":"validation"})"); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 422);
  EXPECT_NE(answer.body.find("bad field"), std::string::npos);
  CodeOf(answer);
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kRejected);
}

TEST(EngineFaults, AnErrorThatItsEngineCutsKeepsItsMessage) {
  const std::string error = R"({"error":{"message":"temperature is odd","type":"BadRequestError"}})";
  ScriptedEngine engine([&](EngineCall& call) {
    call.wire.Send("HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    call.Chunk(error);
    call.wire.Close();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 400);
  EXPECT_NE(answer.body.find("temperature is odd"), std::string::npos) << answer.body;
}

TEST(EngineFaults, WhatComesBehindTheEndOfAStreamStaysBehind) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Chunk("data: " + FinishJson() + "\n\ndata: [DONE]\n\ndata: " + DeltaJson("secret") + "\n\n");
    while (call.wire.Send("a\r\n: secret\n\n\r\n")) continue;
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(PostJson("/v1/chat/completions", StreamBody()));
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  EXPECT_NE(answer.body.find("data: [DONE]\n\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock
