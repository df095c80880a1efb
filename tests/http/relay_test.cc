// The bytes between client and engine, and their times.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/http/faults/engine_pair.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

const std::string kWhole =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,)"
    R"("prompt_tokens_details":{"cached_tokens":4}}})";

TEST(Relay, AWholeAnswerPassesByteForByte) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body, kWhole);
  ASSERT_TRUE(router.AllClosed(1));
  const RequestClosed closed = router.book.Of<RequestClosed>()[0];
  EXPECT_EQ(closed.outcome, Outcome::kFinished);
  EXPECT_EQ(closed.prompt, Tokens(9));
  EXPECT_EQ(closed.output, Tokens(1));
  EXPECT_EQ(closed.cached, Tokens(4));
}

TEST(Relay, AStreamPassesEventByEventAndEndsOnce) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 3); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(PostJson("/v1/chat/completions", StreamBody()));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.headers.at("content-type").substr(0, 17), "text/event-stream");
  EXPECT_EQ(answer.body, "data: " + DeltaJson("w0") + "\n\ndata: " + DeltaJson("w1") + "\n\ndata: " + DeltaJson("w2") +
                             "\n\ndata: " + FinishJson() + "\n\ndata: [DONE]\n\n");
  ASSERT_TRUE(router.AllClosed(1));
  EXPECT_EQ(router.book.Of<RequestClosed>()[0].output, Tokens(3));
  EXPECT_EQ(router.book.Of<FirstToken>().size(), 1u);
}

TEST(Relay, UsageIsPassedToAClientThatAsked) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 2); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto answer =
      router.Ask(PostJson("/v1/chat/completions", StreamBody(",\"stream_options\":{\"include_usage\":true}")));
  EXPECT_NE(answer.body.find(UsageJson(9, 2)), std::string::npos);
}

TEST(Relay, TheEngineGetsTheBodyAsWrittenButForWhatIsSpliced) {
  std::string seen;
  Latch called;
  ScriptedEngine engine([&](EngineCall& call) {
    seen = call.request.body;
    called.Set();
    AnswerStream(call, 1);
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const std::string body =
      "{ \"stream\" : true,\n \"unknown\":[1.0,{}], "
      "\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\\u00e9\"}] }";
  router.Ask(PostJson("/v1/chat/completions", body));
  ASSERT_TRUE(called.Wait());
  EXPECT_EQ(seen, body.substr(0, body.size() - 1) + ",\"stream_options\":{\"include_usage\":true}}");
}

TEST(Relay, TheEngineGetsItsOwnKeyAndNotTheClients) {
  WireMessage seen;
  Latch called;
  ScriptedEngine engine([&](EngineCall& call) {
    seen = call.request;
    called.Set();
    call.Answer(200, kWhole);
  });
  TestServer router({engine.url()}, [](Config& config) { config.replicas[0].key = "engine-key"; });
  ASSERT_TRUE(router.WaitUp());
  const auto answer =
      router.Chat("", "Authorization: Bearer client\r\nX-Request-Id: id-7\r\nx-simulated-output-tokens: 3\r\n");
  ASSERT_TRUE(called.Wait());
  EXPECT_EQ(seen.headers["authorization"], "Bearer engine-key");
  EXPECT_EQ(seen.headers["x-simulated-output-tokens"], "3");
  EXPECT_EQ(seen.headers["x-request-id"], "id-7");
  EXPECT_EQ(answer.headers.at("x-request-id"), "id-7");
}

TEST(Relay, TheHeadIsHeldBackUntilTheFirstEvent) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Chunk(": ping\n\n");
    began.Set();
    go.Wait();
    AnswerStream(call, 0);
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", StreamBody()));
  ASSERT_TRUE(began.Wait());
  EXPECT_FALSE(client->ReadMore(std::chrono::milliseconds(150)));
  go.Set();
}

TEST(Relay, AWaitingStreamIsKeptAliveByComments) {
  Latch go;
  ScriptedEngine engine([&](EngineCall& call) {
    go.Wait();
    AnswerStream(call, 1);
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.keepalive_after = Duration::Milliseconds(60); });
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", StreamBody()));
  ASSERT_NE(client->ReadUntil(": keep-alive\n\n\r\n"), std::string::npos);
  EXPECT_EQ(client->buffer().substr(0, 15), "HTTP/1.1 200 OK");
  go.Set();
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find(DeltaJson("w0")), std::string::npos);
}

TEST(Relay, ARefusalBehindKeepAlivesIsAnEventOfTheStream) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()}, [](Config& config) { config.limits.keepalive_after = Duration::Milliseconds(60); });
  ASSERT_TRUE(router.WaitUp());
  router.orders.hold = true;
  const auto client = router.Connect();
  client->Send(PostJson("/v1/chat/completions", StreamBody()));
  ASSERT_NE(client->ReadUntil(": keep-alive"), std::string::npos);
  router.orders.refuse_parked = true;
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("data: {\"error\":{"), std::string::npos);
  EXPECT_NE(answer.body.find("rate_limit_exceeded"), std::string::npos);
  EXPECT_NE(answer.body.find("data: [DONE]\n\n"), std::string::npos);
}

TEST(Relay, ARefusalCarriesItsRetryHint) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  router.orders.refuse_parked = true;
  router.orders.hold = true;
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 429);
  EXPECT_EQ(answer.headers.at("retry-after"), "3");
  EXPECT_EQ(answer.headers.at("retry-after-ms"), "2500");
}

TEST(Relay, TheReceiptTellsTheDecision) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat("", "x-penstock-receipt: 1\r\n");
  const auto receipt = nlohmann::json::parse(answer.headers.at("x-penstock-receipt"));
  EXPECT_EQ(receipt["replica"], router.config.replicas[0].id);
  EXPECT_EQ(receipt["class"], "standard");
  EXPECT_EQ(receipt["peak_share"], 0.5);
  EXPECT_GT(receipt["prompt_tokens_estimate"], 0);
  EXPECT_EQ(router.Chat().headers.count("x-penstock-receipt"), 0u);
}

TEST(Relay, RequestsFollowEachOtherOnOneConnection) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  const std::string request = PostJson("/v1/chat/completions", ChatBody());
  client->Send(request + request + Get("/healthz"));
  EXPECT_EQ(ReadMessage(*client).body, kWhole);
  EXPECT_EQ(ReadMessage(*client).body, kWhole);
  EXPECT_EQ(ReadMessage(*client).body, "{\"status\":\"ok\"}");
}

TEST(Relay, ExpectContinueIsAnswered) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  const std::string body = ChatBody();
  client->Send("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_NE(client->ReadUntil("HTTP/1.1 100 Continue\r\n\r\n"), std::string::npos);
  client->buffer().clear();
  client->Send(body);
  EXPECT_EQ(ReadMessage(*client).status(), 200);
}

TEST(Relay, ModelsAreListedAndFound) {
  ScriptedEngine engine([](EngineCall&) {});
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto list = nlohmann::json::parse(router.Ask(Get("/v1/models")).body);
  ASSERT_EQ(list["data"].size(), 1u);
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(router.Ask(Get("/v1/models/m")).status(), 200);
  EXPECT_EQ(router.Ask(Get("/v1/models/none")).status(), 404);
}

TestServer& MakeLlama(std::unique_ptr<TestServer>& holder, const ScriptedEngine& engine) {
  holder = std::make_unique<TestServer>(std::vector<std::string>{engine.url()},
                                        [](Config& config) { config.replicas[0].engine = "llamacpp"; });
  return *holder;
}

TEST(Relay, AWholeAnswerIsReassembledForEnginesThatCannotCancelOne) {
  std::string seen;
  ScriptedEngine engine(
      [&](EngineCall& call) {
        seen = call.request.body;
        AnswerStream(call, 2);
      },
      kLlamaPages);
  std::unique_ptr<TestServer> holder;
  TestServer& router = MakeLlama(holder, engine);
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  ASSERT_EQ(answer.status(), 200) << answer.body;
  const auto parsed = nlohmann::json::parse(answer.body);
  EXPECT_EQ(parsed["choices"][0]["message"]["content"], "w0w1");
  EXPECT_EQ(parsed["usage"]["completion_tokens"], 2);
  EXPECT_NE(seen.find("\"stream\":true"), std::string::npos);
}

TEST(Relay, AnAbortedStreamGoesOnWhereItWasCut) {
  std::mutex mutex;
  std::vector<std::string> bodies;
  ScriptedEngine engine(
      [&](EngineCall& call) {
        std::unique_lock lock(mutex);
        bodies.push_back(call.request.body);
        const bool first = bodies.size() == 1;
        lock.unlock();
        call.BeginStream();
        call.Event(R"({"id":"x)" + std::to_string(first) +
                   R"(","created":7,"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]})");
        if (!first) {
          call.Event(DeltaJson(" end"));
          call.Event(FinishJson());
          call.EndStream();
          return;
        }
        call.Event(DeltaJson("begin "));
        call.wire.WaitClosed();
      },
      kLlamaPages);
  TestServer router({engine.url()}, [](Config& config) {
    config.replicas[0].engine = "llamacpp";
    config.replicas[0].kv_tokens = Tokens(8192);
  });
  ASSERT_TRUE(router.WaitUp());
  router.orders.abort_after = 1;
  const WireMessage answer = router.Ask(PostJson("/v1/chat/completions", StreamBody(",\"max_tokens\":9")));
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("begin "), std::string::npos);
  ASSERT_EQ(router.book.Of<RequestRequeued>().size(), 1u);
  EXPECT_EQ(router.book.Of<RequestRequeued>()[0].generated, Tokens(1));
  std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 2u);
  if (answer.body.find("\"error\"") != std::string::npos) FAIL() << answer.body;
  EXPECT_NE(answer.body.find("\"end\""), std::string::npos) << answer.body;
  const auto second = nlohmann::json::parse(bodies[1]);
  EXPECT_EQ(second["messages"][1]["content"], "begin");  // Its space would be trimmed; it comes once all the same.
  EXPECT_EQ(second["max_tokens"], 8);
  EXPECT_EQ(answer.body.find("x0"), std::string::npos);
}

TEST(Relay, TokensThatComeSeveralInAnEventAreCountedByTheUsage) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    for (int i = 0; i < 3; ++i) call.Event(DeltaJson("two words"));
    call.Event(FinishJson());
    call.Event(UsageJson(9, 7));
    call.EndStream();
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  EXPECT_EQ(router.Ask(PostJson("/v1/chat/completions", StreamBody())).status(), 200);
  ASSERT_TRUE(Eventually([&] { return router.Metric("penstock_output_tokens_total") == 7; }));
  EXPECT_EQ(router.Metric("penstock_active_tokens_total"), 7);
}

}  // namespace
}  // namespace penstock
