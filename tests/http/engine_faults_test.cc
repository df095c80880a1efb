// Engines and clients that fail, and what the other side sees.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

const std::string kStream = PostJson("/v1/chat/completions", StreamBody());

std::string CodeOf(const WireMessage& answer) {
  const auto parsed = nlohmann::json::parse(answer.body, nullptr, false);
  if (parsed.is_discarded() || !parsed.contains("error")) return "no error: " + answer.body;
  for (const char* key : {"message", "type", "param", "code"}) EXPECT_TRUE(parsed["error"].contains(key)) << key;
  return parsed["error"]["code"].is_string() ? parsed["error"]["code"].get<std::string>() : "";
}

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
  client->Send(kStream);
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
  client->Send(kStream);
  ASSERT_TRUE(Eventually([&] { return router.book.Of<RequestArrived>().size() == 1; }));
  client->Close();
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
  EXPECT_EQ(engine.calls(), 0);
}

TEST(EngineFaults, PushBackMovesTheRequestToAnotherReplica) {
  std::atomic<int> pushed{0};
  const auto script = [&](EngineCall& call) {
    if (pushed++ == 0) {
      call.Answer(429, R"({"error":{"message":"full"}})");
    } else {
      AnswerStream(call, 1);
    }
  };
  ScriptedEngine a(script), b(script);
  TestServer router({a.url(), b.url()});
  ASSERT_TRUE(router.WaitUp(2));
  const WireMessage answer = router.Ask(kStream);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(a.calls(), 1);
  EXPECT_EQ(b.calls(), 1);
  ASSERT_EQ(router.book.Of<RequestRequeued>().size(), 1u);
  EXPECT_TRUE(router.book.Of<RequestRequeued>()[0].avoid_replica);
}

TEST(EngineFaults, AConnectionLostBeforeTheFirstEventIsTriedElsewhere) {
  std::atomic<int> lost{0};
  const auto script = [&](EngineCall& call) {
    if (lost++ == 0) {
      call.BeginStream();
      call.wire.Close();
    } else {
      AnswerStream(call, 1);
    }
  };
  ScriptedEngine a(script), b(script);
  TestServer router({a.url(), b.url()});
  ASSERT_TRUE(router.WaitUp(2));
  EXPECT_EQ(router.Ask(kStream).status(), 200);
  EXPECT_EQ(lost, 2);
}

TEST(EngineFaults, TriesAreBounded) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(503, "busy", "text/plain"); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(kStream);
  EXPECT_EQ(answer.status(), 503);
  EXPECT_EQ(CodeOf(answer), "service_unavailable");
  EXPECT_EQ(answer.headers.count("retry-after"), 1u);
  EXPECT_EQ(engine.calls(), 3);
  EXPECT_TRUE(router.AllClosed(1));
}

TEST(EngineFaults, EightEnginesThatCannotBeReachedAreEnough) {
  for (const size_t dead : {7u, 8u}) {
    std::vector<std::unique_ptr<ScriptedEngine>> engines;
    std::vector<std::string> urls;
    for (size_t i = 0; i <= dead; ++i) {
      engines.push_back(
          std::make_unique<ScriptedEngine>([](EngineCall& call) { call.Answer(200, R"({"choices":[]})"); }));
      urls.push_back(engines.back()->url());
    }
    TestServer router(urls);
    ASSERT_TRUE(router.WaitUp(static_cast<int>(dead) + 1));
    router.orders.one_by_one = true;
    for (size_t i = 0; i < dead; ++i) engines[i].reset();
    const WireMessage answer = router.Chat();
    EXPECT_EQ(answer.status(), dead < 8 ? 200 : 502) << answer.body;
    if (dead == 8) {
      EXPECT_EQ(answer.headers.at("x-penstock-reason"), "connect");
    }
    EXPECT_EQ(engines.back()->calls(), dead < 8 ? 1 : 0);
    EXPECT_TRUE(router.AllClosed(1));
    EXPECT_EQ(router.book.Of<RequestRequeued>().size(), 7u);
  }
}

TEST(EngineFaults, AnErrorAsTheFirstEventBecomesAStatus) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(R"({"error":{"code":400,"message":"no such tool","type":"invalid_request_error"}})");
    call.wire.Send("0\r\n\r\n");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(kStream);
  EXPECT_EQ(answer.status(), 400);
  EXPECT_NE(answer.body.find("no such tool"), std::string::npos);
}

TEST(EngineFaults, AnErrorInMidStreamEndsTheStreamWithIt) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(R"({"error":{"code":500,"message":"boom","type":"server_error"}})");
    call.wire.Send("0\r\n\r\n");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(kStream);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("\"message\":\"boom\""), std::string::npos);
  EXPECT_NE(answer.body.find("data: [DONE]"), std::string::npos);
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kEngineFailed);
}

TEST(EngineFaults, AConnectionLostInMidStreamIsAnErrorEvent) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.wire.Close();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(kStream);
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("engine_error"), std::string::npos);
}

TEST(EngineFaults, ATruncatedChunkIsAnErrorEvent) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.wire.Send("400\r\ndata: {\"cho");
    call.wire.Close();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(kStream);
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("engine_error"), std::string::npos);
  EXPECT_EQ(answer.body.find("{\"cho\n"), std::string::npos);
}

TEST(EngineFaults, GarbageIs502WhateverItsShape) {
  const std::vector<std::function<void(EngineCall&)>> kinds = {
      [](EngineCall& call) { call.wire.Send("SSH-2.0-OpenSSH_9.2\r\n\r\n"), call.wire.Close(); },
      [](EngineCall& call) { call.Answer(200, "<html>hello</html>", "text/html"); },
      [](EngineCall& call) { call.BeginStream(), call.Chunk("data: <oops>\n\n"), call.wire.Send("0\r\n\r\n"); },
      [](EngineCall& call) { call.Answer(302, ""); },
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    ScriptedEngine engine(kinds[i]);
    TestServer router({engine.url()});
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Ask(kStream);
    EXPECT_EQ(answer.status(), 502) << i << ": " << answer.body;
    EXPECT_EQ(CodeOf(answer), "engine_error") << i;
    EXPECT_TRUE(router.AllClosed(1)) << i;
  }
}

// Broken answers of an engine, each with the status and the kind of its error.
TEST(EngineFaults, EveryBrokenAnswerHasAClearOutcome) {
  struct Case {
    const char* name;
    std::function<void(EngineCall&)> script;
    int status;
    const char* kind;
  };
  const std::vector<Case> cases = {
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
         call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}{\"a\":1}");
       },
       200, ""},
      {"an impossible length",
       [](EngineCall& call) { call.wire.Send("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"); }, 502, "garbage"},
      {"two lengths",
       [](EngineCall& call) {
         call.wire.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}\n");
       },
       502, "garbage"},
      {"nothing behind the head",
       [](EngineCall& call) {
         call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
         call.wire.WaitClosed();
       },
       504, "timeout"},
      {"an empty body", [](EngineCall& call) { call.Answer(200, ""); }, 502, "garbage"},
      {"a switch of protocols",
       [](EngineCall& call) { call.wire.Send("HTTP/1.1 101 Switching Protocols\r\n\r\n"), call.wire.WaitClosed(); },
       502, "garbage"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    ScriptedEngine engine(one.script);
    TestServer router({engine.url()},
                      [](Config& config) { config.limits.first_byte_timeout = Duration::Milliseconds(300); });
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Chat();
    EXPECT_EQ(answer.status(), one.status) << answer.body;
    if (one.status != 200) {
      EXPECT_EQ(answer.headers.at("x-penstock-reason"), one.kind);
      EXPECT_EQ(CodeOf(answer), "engine_error");
    }
    EXPECT_TRUE(router.AllClosed(1));
  }
}

TEST(EngineFaults, AHeadAsLongAsAllowedIsRead) {
  ScriptedEngine engine([](EngineCall& call) {
    call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nx: " +
                   std::string(60 << 10, 'a') + "\r\n\r\n{}");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Chat().status(), 200);
}

TEST(EngineFaults, AFailureBeforeTheFirstByteIsTriedElsewhereButNoMistakeOfTheClient) {
  struct Case {
    int status;
    int calls;
  };
  for (const Case one : {Case{400, 1}, Case{404, 1}, Case{422, 1}, Case{429, 2}, Case{500, 2}, Case{501, 1},
                         Case{502, 2}, Case{503, 2}}) {
    SCOPED_TRACE(one.status);
    std::atomic<int> calls{0};
    const auto script = [&](EngineCall& call) {
      if (calls++ == 0) return call.Answer(one.status, R"({"error":{"message":"no"}})");
      call.Answer(200, R"({"choices":[]})");
    };
    ScriptedEngine a(script), b(script);
    TestServer router({a.url(), b.url()});
    ASSERT_TRUE(router.WaitUp(2));
    EXPECT_EQ(router.Chat().status() == 200, one.calls == 2);
    EXPECT_EQ(calls, one.calls);
    EXPECT_EQ(router.server->replicas_up(), 2);
  }
}

TEST(EngineFaults, PushBackOpensNoBreaker) {
  std::atomic<bool> full{true};
  ScriptedEngine engine([&](EngineCall& call) {
    if (full) return call.Answer(503, R"({"error":{"message":"full"}})");
    call.Answer(200, R"({"choices":[]})");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(router.Chat().status(), 503);
  EXPECT_EQ(router.server->replicas_up(), 1);
  full = false;
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

TEST(EngineFaults, ASilentEngineTimesOut) {
  ScriptedEngine engine([](EngineCall& call) { call.wire.WaitClosed(); });
  TestServer router({engine.url()},
                    [](Config& config) { config.limits.first_byte_timeout = Duration::Milliseconds(100); });
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Chat().status(), 504);
  EXPECT_TRUE(router.AllClosed(1));
}

TEST(EngineFaults, AnEngineThatIsDownAtStartIsServedWhenItAppears) {
  uint16_t port = 0;
  {
    ScriptedEngine probe([](EngineCall&) {});
    port = probe.port();
  }
  TestServer router({"http://127.0.0.1:" + std::to_string(port)});
  EXPECT_EQ(router.Ask(Get("/readyz")).status(), 503);
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 503) << answer.body;
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 1); }, ScriptedEngine::DefaultPages(), port);
  EXPECT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Ask(Get("/readyz")).status(), 200);
  EXPECT_EQ(router.Ask(kStream).status(), 200);
}

TEST(EngineFaults, AnEngineThatDiesIsLeftAloneUntilItIsBack) {
  auto engine = std::make_unique<ScriptedEngine>([](EngineCall& call) { AnswerStream(call, 1); });
  const uint16_t port = engine->port();
  TestServer router({engine->url()});
  ASSERT_TRUE(router.WaitUp());
  engine.reset();
  ASSERT_TRUE(Eventually([&] { return router.Ask(Get("/readyz")).status() == 503; }));
  engine = std::make_unique<ScriptedEngine>([](EngineCall& call) { AnswerStream(call, 1); },
                                            ScriptedEngine::DefaultPages(), port);
  EXPECT_TRUE(Eventually([&] { return router.Ask(kStream).status() == 200; }));
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
  slow->Send(kStream);
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
  client->Send(kStream);
  EXPECT_TRUE(closed.Wait());
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].outcome, Outcome::kClientGone);
}

}  // namespace
}  // namespace penstock
