// Engines that fail before, at and after the first byte of an answer, and the effect on the client.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/http/faults/engine_pair.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

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
  const WireMessage answer = router.Ask(StreamRequest());
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
  EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
  EXPECT_EQ(lost, 2);
}

TEST(EngineFaults, ARequestThatKillsItsEnginesMeetsTwoAndCountsOnce) {
  const auto script = [](EngineCall& call) {
    if (call.request.body.find("poison") != std::string::npos) return call.wire.Close();
    AnswerStream(call, 1);
  };
  ScriptedEngine a(script), b(script), c(script);
  TestServer router({a.url(), b.url(), c.url()});
  ASSERT_TRUE(router.WaitUp(3));
  for (int i = 1; i <= 2; ++i) {
    const int before = a.calls() + b.calls() + c.calls();
    const WireMessage answer = router.Ask(PostJson("/v1/chat/completions", StreamBody(",\"user\":\"poison\"")));
    EXPECT_EQ(answer.status(), 502);
    EXPECT_LE(a.calls() + b.calls() + c.calls() - before, 2);
    EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
  }
  EXPECT_EQ(router.server->replicas_up(), 3);
}

TEST(EngineFaults, ARequestWithEffectsIsWrittenOnce) {
  const auto script = [](EngineCall& call) { call.wire.Close(); };
  ScriptedEngine a(script, kVllmPages), b(script, kVllmPages);
  TestServer router({a.url(), b.url()}, [](Config& config) {
    for (ReplicaConfig& replica : config.replicas) replica.engine = "vllm";
  });
  ASSERT_TRUE(router.WaitUp(2));
  const auto ask = [&](const std::string& more) {
    return router.Ask(PostJson("/v1/responses", R"({"model":"m","input":"hi")" + more + "}")).status();
  };
  for (const std::string more : {"", R"(,"store":true)", R"(,"store":false,"tools":[{"type":"web_search"}])"}) {
    const int before = a.calls() + b.calls();
    EXPECT_EQ(ask(more), 502) << more;
    EXPECT_EQ(a.calls() + b.calls() - before, 1) << more;
  }
}

TEST(EngineFaults, AddressesOfEnginesStayInTheLog) {
  auto engine = std::make_unique<ScriptedEngine>([](EngineCall& call) { call.wire.Close(); });
  const std::string port = std::to_string(engine->port());
  TestServer router({engine->url()}, [](Config& config) { config.poll.interval = Duration::Seconds(60); });
  ASSERT_TRUE(router.WaitUp());
  const WireMessage closed = router.Ask(StreamRequest());
  engine.reset();
  const WireMessage refused = router.Ask(StreamRequest());
  for (const WireMessage& answer : {closed, refused}) {
    EXPECT_GE(answer.status(), 502);
    for (const std::string& secret : {port, std::string("127.0.0.1"), std::string("onnection re")}) {
      EXPECT_EQ(answer.body.find(secret), std::string::npos) << answer.body;
    }
  }
}

TEST(EngineFaults, TheLeaseEndsWithTheAnswerNotWithTheBody) {
  Latch go;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Event(FinishJson());
    call.Event("[DONE]");
    go.Wait();
    call.wire.Close();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(StreamRequest());
  EXPECT_TRUE(router.AllClosed(1));
  EXPECT_NE(client->ReadUntil("[DONE]"), std::string::npos);
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  go.Set();
}

TEST(EngineFaults, APathThatTheEngineLacksIsNamed) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(404, R"({"detail":"Not Found"})"); });
  TestServer router({engine.url()}, [](Config& config) { config.replicas[0].id = "ranker"; });
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 404);
  EXPECT_NE(answer.body.find("serves /v1/chat/completions."), std::string::npos) << answer.body;
}

TEST(EngineFaults, EightEnginesThatCannotBeReachedAreEnough) {
  for (const size_t dead : {7u, 8u}) {
    std::vector<std::unique_ptr<ScriptedEngine>> engines;
    std::vector<std::string> urls;
    for (size_t i = 0; i <= dead; ++i) {
      engines.push_back(
          std::make_unique<ScriptedEngine>([](EngineCall& call) { call.Answer(200, R"({"choices":[{}]})"); }));
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
  const WireMessage answer = router.Ask(StreamRequest());
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
  const WireMessage answer = router.Ask(StreamRequest());
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
  const WireMessage answer = router.Ask(StreamRequest());
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
  const WireMessage answer = router.Ask(StreamRequest());
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("engine_error"), std::string::npos);
  EXPECT_EQ(answer.body.find("{\"cho\n"), std::string::npos);
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
      call.Answer(200, R"({"choices":[{}]})");
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
    call.Answer(200, R"({"choices":[{}]})");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(router.Chat().status(), 503);
  EXPECT_EQ(router.server->replicas_up(), 1);
  full = false;
  EXPECT_EQ(router.Chat().status(), 200);
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
  EXPECT_EQ(router.Ask(StreamRequest()).status(), 200);
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
  EXPECT_TRUE(Eventually([&] { return router.Ask(StreamRequest()).status() == 200; }));
}

}  // namespace
}  // namespace penstock
