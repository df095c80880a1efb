// Whole answers that are long: passed on while they are read, in bounded memory, and broken off where they turn out
// bad.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/http/faults/engine_pair.h"
#include "tests/http/test_server.h"

namespace penstock {
namespace {

constexpr size_t kMegabyte = 1 << 20;

std::string AnswerOf(size_t size, const std::string& finish = "stop") {
  return R"({"object":"chat.completion","choices":[{"index":0,"message":{"content":")" + std::string(size, 'x') +
         R"("},"finish_reason":")" + finish + R"("}],"usage":{"prompt_tokens":9,"completion_tokens":5}})";
}

std::string HeadOf(size_t length) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

const std::string kChunkedHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

void SendChunks(EngineCall& call, const std::string& body) {
  for (size_t at = 0; at < body.size(); at += 99'999) call.Chunk(body.substr(at, 99'999));
}

// Beginnings that the router passes on before it knows better.
struct LateFault {
  const char* name;
  std::function<void(EngineCall&)> script;
  const char* kind;
};
const std::vector<LateFault> kLateFaults = {
    {"cut within its length",
     [](EngineCall& call) {
       call.wire.Send(HeadOf(9 * kMegabyte) + AnswerOf(3 * kMegabyte).substr(0, 3 * kMegabyte));
       call.wire.Close();
     },
     "closed"},
    {"cut within its chunks",
     [](EngineCall& call) {
       call.wire.Send(kChunkedHead);
       SendChunks(call, AnswerOf(3 * kMegabyte));
       call.wire.Close();
     },
     "closed"},
    {"an error behind three megabytes",
     [](EngineCall& call) {
       std::string body = AnswerOf(3 * kMegabyte);
       body.replace(body.size() - 1, 1, R"(,"error":{"message":"boom"}})");
       call.wire.Send(HeadOf(body.size()) + body);
     },
     "server"},
    {"no JSON behind three megabytes",
     [](EngineCall& call) {
       call.wire.Send(kChunkedHead);
       SendChunks(call, AnswerOf(3 * kMegabyte) + "oops");
       call.wire.Send("0\r\n\r\n");
     },
     "garbage"},
    {"half a document",
     [](EngineCall& call) {
       call.wire.Send(kChunkedHead);
       SendChunks(call, AnswerOf(3 * kMegabyte).substr(0, 3 * kMegabyte));
       call.wire.Send("0\r\n\r\n");
     },
     "garbage"},
    {"aborted by the engine",
     [](EngineCall& call) {
       const std::string body = AnswerOf(3 * kMegabyte, "abort");
       call.wire.Send(HeadOf(body.size()) + body);
     },
     "server"},
    {"longer than allowed",
     [](EngineCall& call) {
       call.wire.Send(kChunkedHead);
       SendChunks(call, AnswerOf(20 * kMegabyte));
     },
     "garbage"},
};

TEST(WholeAnswer, ALongOneComesWholeWithItsLengthOrInChunks) {
  const std::string body = AnswerOf(9 * kMegabyte);
  std::atomic<bool> chunked{false};
  ScriptedEngine engine([&](EngineCall& call) {
    if (!chunked) return call.Answer(200, body);
    call.wire.Send(kChunkedHead);
    SendChunks(call, body);
    call.wire.Send("0\r\n\r\n");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  for (const bool in_chunks : {false, true}) {
    chunked = in_chunks;
    const auto client = router.Connect();
    for (int i = 0; i < 2; ++i) {
      client->Send(PostJson("/v1/chat/completions", ChatBody()));
      const WireMessage answer = ReadMessage(*client);
      EXPECT_EQ(answer.status(), 200);
      EXPECT_TRUE(answer.body == body);
      EXPECT_EQ(answer.headers.count("content-length"), in_chunks ? 0u : 1u);
      EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    }
  }
  ASSERT_TRUE(router.AllClosed(4));
  EXPECT_EQ(router.book.Of<RequestClosed>()[3].output, Tokens(5));
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") == 0; }));
}

TEST(WholeAnswer, AClientOfHttp10GetsItUntilTheClose) {
  const std::string body = AnswerOf(3 * kMegabyte);
  ScriptedEngine engine([&](EngineCall& call) {
    call.wire.Send(kChunkedHead);
    SendChunks(call, body);
    call.wire.Send("0\r\n\r\n");
  });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  const auto client = router.Connect();
  const std::string request = ChatBody();
  client->Send("POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(request.size()) + "\r\n\r\n" + request);
  while (client->ReadMore()) continue;
  const std::string& got = client->buffer();
  EXPECT_EQ(got.find("transfer-encoding"), std::string::npos);
  EXPECT_TRUE(got.size() > body.size() && got.compare(got.size() - body.size(), body.size(), body) == 0);
}

TEST(WholeAnswer, ALateFaultBreaksItOffAndNoOtherEngineIsAsked) {
  for (const LateFault& fault : kLateFaults) {
    SCOPED_TRACE(fault.name);
    ScriptedEngine a(fault.script), b(fault.script);
    TestServer router({a.url(), b.url()}, [](Config& config) { config.limits.max_answer = Bytes(16 * kMegabyte); });
    ASSERT_TRUE(router.WaitUp(2));
    const auto client = router.Connect();
    client->Send(PostJson("/v1/chat/completions", ChatBody()));
    const WireMessage answer = ReadMessage(*client);
    EXPECT_EQ(answer.status(), 200);
    EXPECT_GT(answer.body.size(), kMegabyte);
    EXPECT_EQ(answer.body.find("{\"error\""), std::string::npos);
    EXPECT_FALSE(answer.complete);
    EXPECT_TRUE(client->WaitClosed());
    EXPECT_EQ(a.calls() + b.calls(), 1);
    EXPECT_TRUE(router.AllClosed(1));
    double counted = 0;
    for (const std::string& replica : {a.url(), b.url()}) {
      counted += std::max(0.0, router.Metric("penstock_engine_errors_total{kind=\"" + std::string(fault.kind) +
                                             "\",replica=\"" + replica.substr(7) + "\"}"));
    }
    EXPECT_EQ(counted, 1);
    EXPECT_EQ(router.Metric("penstock_resumes_total{result=\"whole\"}"), 1);
    EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") == 0; }));
  }
}

TEST(WholeAnswer, AFaultInItsFirstMegabyteIsTriedElsewhere) {
  const std::string good = AnswerOf(2 * kMegabyte);
  std::atomic<int> calls{0};
  const auto script = [&](EngineCall& call) {
    if (calls++ > 0) return call.Answer(200, good);
    call.wire.Send(HeadOf(good.size()) + good.substr(0, 500'000));
    call.wire.Close();
  };
  ScriptedEngine a(script), b(script);
  TestServer router({a.url(), b.url()});
  ASSERT_TRUE(router.WaitUp(2));
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.body == good);
  EXPECT_EQ(calls, 2);
}

TEST(WholeAnswer, UnreadAnswersTakeBoundedMemoryThatTheMetricShows) {
  constexpr int kClients = 4;
  const std::string body = AnswerOf(20 * kMegabyte);
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, body); });
  TestServer router({engine.url()});
  ASSERT_TRUE(router.WaitUp());
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(router.Connect());
    clients.back()->Send(PostJson("/v1/chat/completions", ChatBody()));
  }
  for (const auto& client : clients) ASSERT_NE(client->ReadUntil("HTTP/1.1 200"), std::string::npos);
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") > 100'000; }));
  EXPECT_LT(router.Metric("penstock_buffered_bytes"), kClients * 1.2 * kMegabyte);
  EXPECT_GT(router.Metric("penstock_fill_ratio{of=\"answer_memory\"}"), 0);
  for (const auto& client : clients) EXPECT_TRUE(ReadMessage(*client).body == body);
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") == 0; }));
}

TEST(WholeAnswer, OneThatFindsNoMemoryIsRefusedAndOneThatFindsLittlePassesAtOnce) {
  const std::string body = AnswerOf(500'000);
  ScriptedEngine engine([&](EngineCall& call) {
    call.wire.Send(HeadOf(body.size()) + body.substr(0, 300'000));
    call.wire.Send(body.substr(300'000));
  });
  for (const int64_t memory : {int64_t{1'000}, int64_t{100'000}}) {
    TestServer router({engine.url()}, [&](Config& config) { config.limits.max_answer_memory = Bytes(memory); });
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Chat();
    EXPECT_EQ(answer.status(), memory == 1'000 ? 503 : 200);
    EXPECT_EQ(answer.body == body, memory != 1'000);
    const double refused = router.Metric("penstock_turned_away_total{limit=\"answer_memory\"}");
    EXPECT_EQ(refused, memory == 1'000 ? 1 : 0);
    if (memory == 1'000) {
      EXPECT_EQ(answer.headers.at("x-penstock-reason"), "answer_memory");
      EXPECT_EQ(answer.headers.count("retry-after"), 1u);
    }
    EXPECT_EQ(router.server->replicas_up(), 1);
  }
}

TEST(WholeAnswer, TheEventsOfAStreamAreInTheSameMemory) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    call.Chunk("data: {\"id\":\"" + std::string(300'000, 'x'));
    call.wire.WaitClosed();
  });
  TestServer router({engine.url()}, [](Config& config) { config.limits.max_answer_memory = Bytes(100'000); });
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Ask(PostJson("/v1/chat/completions", StreamBody()));
  EXPECT_TRUE(answer.complete);
  EXPECT_NE(answer.body.find("as many bytes of answers as it may"), std::string::npos) << answer.body;
  EXPECT_EQ(router.Metric("penstock_turned_away_total{limit=\"answer_memory\"}"), 1);
  EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") == 0; }));
}

TEST(WholeAnswer, OneThatIsPutTogetherComesInPiecesToo) {
  const std::string word(40'000, 'x');
  for (const int words : {2, 50}) {
    ScriptedEngine engine(
        [&](EngineCall& call) {
          call.BeginStream();
          for (int i = 0; i < words; ++i) call.Chunk("data: " + DeltaJson(word) + "\n\n");
          call.Event(FinishJson());
          call.EndStream();
        },
        kLlamaPages);
    TestServer router({engine.url()}, [](Config& config) { config.replicas[0].engine = "llamacpp"; });
    ASSERT_TRUE(router.WaitUp());
    const WireMessage answer = router.Chat();
    EXPECT_EQ(answer.status(), 200) << answer.body;
    EXPECT_TRUE(answer.complete);
    const auto parsed = nlohmann::json::parse(answer.body);
    EXPECT_EQ(parsed["choices"][0]["message"]["content"].get<std::string>().size(), words * word.size());
    EXPECT_EQ(answer.headers.count("content-length"), words == 2 ? 1u : 0u);
    EXPECT_TRUE(Eventually([&] { return router.Metric("penstock_buffered_bytes") == 0; }));
  }
}

TEST(WholeAnswer, OneThatIsPutTogetherNeedsMemoryToo) {
  ScriptedEngine engine(
      [](EngineCall& call) {
        call.BeginStream();
        for (int i = 0; i < 20; ++i) call.Chunk("data: " + DeltaJson(std::string(20'000, 'x')) + "\n\n");
        call.wire.WaitClosed();
      },
      kLlamaPages);
  TestServer router({engine.url()}, [](Config& config) {
    config.replicas[0].engine = "llamacpp";
    config.limits.max_answer_memory = Bytes(100'000);
  });
  ASSERT_TRUE(router.WaitUp());
  const WireMessage answer = router.Chat();
  EXPECT_EQ(answer.status(), 503) << answer.body;
  EXPECT_EQ(answer.headers.at("x-penstock-reason"), "answer_memory");
}

}  // namespace
}  // namespace penstock
