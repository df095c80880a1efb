// Every time limit of the edge from both sides: what keeps within it is served, what does not is ended with its reason.
//
// Peers pause for fractions of a limit, several times, so that one taken for the whole instead of for one wait is
// found.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <string>

#include "tests/http/test_server.h"

namespace penstock {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Short enough to wait for, long enough that a loaded machine does not make a pause of a tenth of it as long.
constexpr Duration kLimit = Duration::Milliseconds(800);
constexpr Milliseconds kPause{80};
constexpr int kPauses = 12;  // Together longer than the limit.

void Pause() { poll(nullptr, 0, static_cast<int>(kPause.count())); }

std::string Hello(bool stream = false) { return PostJson("/v1/chat/completions", stream ? StreamBody() : ChatBody()); }

void AnswerWhole(EngineCall& call) {
  call.Answer(200, R"({"choices":[{"index":0,"message":{"content":"w"},"finish_reason":"stop"}]})");
}

bool Late(std::chrono::steady_clock::time_point begun) {
  const auto limit = Milliseconds(kLimit.nanoseconds() / 1'000'000);
  return std::chrono::steady_clock::now() - begun >= limit;
}

class Limits : public ::testing::Test {
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
  // Sends the text in pieces with pauses that are together longer than the limit.
  static void SendSlowly(Wire& client, const std::string& text) {
    const size_t piece = text.size() / kPauses + 1;
    for (size_t at = 0; at < text.size(); at += piece) {
      client.Send(text.substr(at, piece));
      Pause();
    }
  }

  std::unique_ptr<ScriptedEngine> engine_;
  std::unique_ptr<TestServer> router_;
};

TEST_F(Limits, AHeadMayComeInPiecesButNotForLongerThanItsTimeout) {
  Start(AnswerWhole, [](LimitsConfig& limits) { limits.header_timeout = kLimit; });
  const auto slow = router_->Connect();
  slow->Send("POST /v1/chat/comp");
  Pause();
  slow->Send(Hello().substr(18));
  EXPECT_EQ(ReadMessage(*slow).status(), 200);
  const auto begun = std::chrono::steady_clock::now();
  const auto slower = router_->Connect();
  SendSlowly(*slower, "GET /healthz HTTP/1.1\r\nHost: h\r\nX-Never: " + std::string(100, 'a'));
  EXPECT_EQ(ReadMessage(*slower).status(), 408);
  EXPECT_TRUE(Late(begun));
}

TEST_F(Limits, ABodyMayTakeAnyTimeAsLongAsBytesCome) {
  Start(AnswerWhole, [](LimitsConfig& limits) {
    limits.body_timeout = kLimit;
    limits.min_body_rate = Bytes(0);
  });
  const auto slow = router_->Connect();
  const std::string request = Hello();
  const size_t head = request.find("\r\n\r\n") + 4;
  slow->Send(request.substr(0, head));
  SendSlowly(*slow, request.substr(head));
  EXPECT_EQ(ReadMessage(*slow).status(), 200);
  const auto stuck = router_->Connect();
  const auto begun = std::chrono::steady_clock::now();
  stuck->Send(request.substr(0, request.size() - 1));
  EXPECT_EQ(ReadMessage(*stuck).status(), 408);
  EXPECT_TRUE(Late(begun));
}

TEST_F(Limits, AnIdleConnectionIsKeptForItsTimeoutAndThenClosedWithoutAWord) {
  Start(AnswerWhole, [](LimitsConfig& limits) { limits.idle_timeout = kLimit; });
  const auto client = router_->Connect();
  for (int i = 0; i < kPauses; ++i) {
    client->Send(Get("/healthz"));
    EXPECT_EQ(ReadMessage(*client).status(), 200);
    Pause();
  }
  client->Send(Get("/healthz"));
  EXPECT_EQ(ReadMessage(*client).status(), 200);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(client->ReadMore());
  EXPECT_TRUE(client->WaitClosed());
  EXPECT_TRUE(Late(begun));
}

TEST_F(Limits, AClientMayReadSlowlyAsLongAsItReads) {
  const std::string text(60'000, 'x');
  Start(
      [text](EngineCall& call) {
        call.BeginStream();
        for (int i = 0; i < 200; ++i) call.Event(DeltaJson(text));
        call.Event(FinishJson());
        call.EndStream();
      },
      [](LimitsConfig& limits) { limits.write_timeout = kLimit; });
  const auto client = router_->Connect();
  client->Send(Hello(/*stream=*/true));
  for (int i = 0; i < kPauses; ++i) {
    // Megabytes, so that the router's socket has room again each time.
    while (client->buffer().size() < static_cast<size_t>(i) * 800'000) ASSERT_TRUE(client->ReadMore());
    Pause();
  }
  const WireMessage answer = ReadMessage(*client);
  EXPECT_TRUE(answer.complete);
  EXPECT_GT(answer.body.size(), 12'000'000u);
}

TEST_F(Limits, AnEngineMayThinkUntilItsFirstByteIsDue) {
  for (const bool stream : {false, true}) {
    Start(
        [stream](EngineCall& call) {
          Pause();
          stream ? AnswerStream(call, 1) : AnswerWhole(call);
        },
        [](LimitsConfig& limits) { limits.first_byte_timeout = kLimit; });
    EXPECT_EQ(router_->Ask(Hello(stream)).status(), 200);
    Start([](EngineCall& call) { call.wire.WaitClosed(); },
          [](LimitsConfig& limits) { limits.first_byte_timeout = kLimit; });
    const auto begun = std::chrono::steady_clock::now();
    const WireMessage late = router_->Ask(Hello(stream));
    EXPECT_EQ(late.status(), 504);
    EXPECT_EQ(late.headers.at("x-penstock-reason"), "timeout");
    EXPECT_TRUE(Late(begun));
  }
}

TEST_F(Limits, AStreamMayTakeAnyTimeAsLongAsItsGapsAreShort) {
  Start(
      [](EngineCall& call) {
        call.BeginStream();
        for (int i = 0; i < kPauses; ++i) {
          call.Event(DeltaJson("w"));
          Pause();
        }
        call.Event(FinishJson());
        call.EndStream();
      },
      [](LimitsConfig& limits) { limits.gap_timeout = kLimit; });
  const WireMessage whole = router_->Ask(Hello(/*stream=*/true));
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(whole.body.find("\"error\""), std::string::npos) << whole.body;
  Start(
      [](EngineCall& call) {
        call.BeginStream();
        call.Event(DeltaJson("w"));
        call.wire.WaitClosed();
      },
      [](LimitsConfig& limits) { limits.gap_timeout = kLimit; });
  const auto begun = std::chrono::steady_clock::now();
  const WireMessage cut = router_->Ask(Hello(/*stream=*/true));
  EXPECT_TRUE(cut.complete);
  EXPECT_NE(cut.body.find("\"error\""), std::string::npos);
  EXPECT_TRUE(Late(begun));
}

TEST_F(Limits, AnAnswerHasItsTimeAndNoMore) {
  for (const bool stream : {false, true}) {
    Start(
        [stream](EngineCall& call) {
          Pause();
          stream ? AnswerStream(call, 1) : AnswerWhole(call);
        },
        [](LimitsConfig& limits) { limits.answer_timeout = kLimit; });
    EXPECT_EQ(router_->Ask(Hello(stream)).status(), 200);
    // An engine that is never silent for long.
    Start(
        [stream](EngineCall& call) {
          stream ? call.BeginStream()
                 : (void)call.wire.Send(
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Content-Length: 100000\r\n\r\n{");
          for (bool taken = true; taken; Pause()) {
            if (stream) call.Event(DeltaJson("w"));
            taken = call.wire.Send(stream ? "a\r\n: comment\n\r\n" : " ");
          }
        },
        [](LimitsConfig& limits) { limits.answer_timeout = kLimit; });
    const auto begun = std::chrono::steady_clock::now();
    const WireMessage answer = router_->Ask(Hello(stream));
    EXPECT_EQ(answer.status(), stream ? 200 : 504);
    EXPECT_NE(answer.body.find("\"error\""), std::string::npos);
    EXPECT_TRUE(answer.complete);
    EXPECT_TRUE(Late(begun));
  }
}

TEST_F(Limits, NoCommentsComeBeforeTheirTime) {
  Latch go;
  Start(
      [&](EngineCall& call) {
        Pause();
        if (call.request.body.find("patient") != std::string::npos) go.Wait();
        AnswerStream(call, 1);
      },
      [](LimitsConfig& limits) { limits.keepalive_after = kLimit; });
  EXPECT_EQ(router_->Ask(Hello(/*stream=*/true)).body.find("keep-alive"), std::string::npos);
  const auto patient = router_->Connect();
  const auto begun = std::chrono::steady_clock::now();
  patient->Send(PostJson("/v1/chat/completions", StreamBody(",\"user\":\"patient\"")));
  EXPECT_NE(patient->ReadUntil(": keep-alive\n\n"), std::string::npos);
  EXPECT_TRUE(Late(begun));
  go.Set();
  EXPECT_TRUE(ReadMessage(*patient).complete);
}

TEST_F(Limits, AWholeAnswerIsReadToItsLongestAndNoFurther) {
  constexpr size_t kLongest = 100'000;
  const auto limit = [](LimitsConfig& limits) { limits.max_answer = Bytes(kLongest); };
  for (const size_t size : {kLongest, kLongest + 1}) {
    for (const bool chunked : {false, true}) {
      std::string body = R"({"choices":[{}],"x":")";
      body += std::string(size - body.size() - 2, 'x') + "\"}";
      Start(
          [body, chunked](EngineCall& call) {
            if (!chunked) return call.Answer(200, body);
            call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (size_t at = 0; at < body.size(); at += 9'999) call.Chunk(body.substr(at, 9'999));
            call.wire.Send("0\r\n\r\n");
          },
          limit);
      const WireMessage answer = router_->Ask(Hello());
      EXPECT_EQ(answer.status(), size == kLongest ? 200 : 502);
      EXPECT_EQ(answer.body == body, size == kLongest);
      if (size > kLongest) {
        EXPECT_EQ(answer.headers.at("x-penstock-reason"), "garbage");
      }
    }
  }
  // An engine that never ends is left.
  Start(
      [](EngineCall& call) {
        call.wire.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{");
        while (call.wire.Send(std::string(10'000, ' '))) {
        }
      },
      limit);
  EXPECT_EQ(router_->Ask(Hello()).status(), 502);
}

TEST_F(Limits, AnEnginesErrorKeepsItsMessageUpToAMegabyteAndItsStatusBeyond) {
  for (const size_t size : {size_t{1000} << 10, size_t{1100} << 10}) {
    Start(
        [size](EngineCall& call) {
          call.Answer(422, "{\"error\":\"bad field\",\"x\":\"" + std::string(size, 'x') + "\"}");
        },
        [](LimitsConfig&) {});
    const WireMessage answer = router_->Ask(Hello());
    EXPECT_EQ(answer.status(), 422);
    EXPECT_EQ(answer.body.find("bad field") != std::string::npos, size < 1 << 20) << answer.body;
  }
}

}  // namespace
}  // namespace penstock
