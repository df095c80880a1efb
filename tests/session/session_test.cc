// A session serves any client: here one without a socket, in front of a scripted engine on loopback.
#include "router/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/session/session_world.h"

namespace penstock {
namespace {

const std::string kWhole =
    R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},)"
    R"("finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}})";

TEST(Session, AWholeAnswerReachesAClientWithoutASocket) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  for (const bool slow : {false, true}) {
    MemoryClient client;
    if (slow) client.reading = MemoryClient::Reading::kLater;
    ASSERT_TRUE(world.Run(client, ChatBody(), {{"x-penstock-receipt", "1"}}));
    EXPECT_EQ(client.status(), 200);
    EXPECT_EQ(client.text, kWhole);
    EXPECT_EQ(client.ends, 1);
    EXPECT_EQ(FindHeader(client.headers, "x-penstock-receipt").substr(0, 11), "{\"replica\":");
  }
  const auto closed = world.book.Of<RequestClosed>();
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0].outcome, Outcome::kFinished);
  EXPECT_EQ(closed[1].prompt, Tokens(9));
}

TEST(Session, ALongWholeAnswerComesInPartsThatHoldNoLoop) {
  const std::string text = R"({"choices":[{}],"text":")" + std::string(3 << 20, 'x') + "\"}";
  ScriptedEngine engine([&](EngineCall& call) { call.Answer(200, text); });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  for (const bool slow : {false, true}) {
    MemoryClient client;
    if (slow) client.reading = MemoryClient::Reading::kLater;
    ASSERT_TRUE(world.Run(client, ChatBody()));
    EXPECT_TRUE(client.text == text);
    EXPECT_TRUE(client.in_parts);
    EXPECT_EQ(client.length, text.size());
    EXPECT_EQ(client.content_type, "application/json");
    EXPECT_LE(client.longest_part, size_t{256} << 10);
    EXPECT_EQ(client.ends, 1);
    EXPECT_FALSE(client.failed);
  }
  EXPECT_EQ(world.book.Of<RequestClosed>()[1].outcome, Outcome::kFinished);
}

TEST(Session, AStreamReachesAClientWithoutASocket) {
  ScriptedEngine engine([](EngineCall& call) { AnswerStream(call, 3); });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  for (const bool slow : {false, true}) {
    MemoryClient client;
    if (slow) client.reading = MemoryClient::Reading::kLater;
    ASSERT_TRUE(world.Run(client, StreamBody()));
    EXPECT_EQ(client.text, "data: " + DeltaJson("w0") + "\n\ndata: " + DeltaJson("w1") +
                               "\n\ndata: " + DeltaJson("w2") + "\n\ndata: " + FinishJson() + "\n\ndata: [DONE]\n\n");
    EXPECT_EQ(client.ends, 1);
    EXPECT_FALSE(client.failed);
  }
  const auto closed = world.book.Of<RequestClosed>();
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[1].output, Tokens(3));
}

TEST(Session, AStreamWhoseClientDoesNotReadIsDelayedOnTheBoard) {
  Latch began, go;
  ScriptedEngine engine([&](EngineCall& call) { HoldStream(call, began, go); });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  MemoryClient client;
  client.reading = MemoryClient::Reading::kNot;
  std::future<void> ended = world.Begin(client, StreamBody());
  const auto delayed = [&] {
    bool found = false;
    world.Call([&] {
      for (const Progress& progress : world.edge().board->Sample({0}, Now())) {
        for (const ReplicaProgress& replica : progress.replicas) found |= replica.delayed;
      }
    });
    return found;
  };
  EXPECT_TRUE(Eventually(delayed));
  go.Set();
  world.Call([&] { client.reading = MemoryClient::Reading::kAtOnce; });
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(client.failed);
}

TEST(Session, AReplicaThatPutsSeveralTokensIntoAnEventIsLearned) {
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    for (int i = 0; i < 50; ++i) call.Event(DeltaJson("w w w"));
    call.Event(FinishJson());
    call.Event(R"({"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":151,"total_tokens":160}})");
    call.Chunk("data: [DONE]\n\n");
    call.EndStream();
  });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  const auto tokens_per_event = [&] {
    double ratio = 0;
    world.Call([&] { ratio = world.loop().TokensPerEventOf(ReplicaId(0)).ratio(); });
    return ratio;
  };
  EXPECT_EQ(tokens_per_event(), 1);
  for (int i = 0; i < 8; ++i) {
    MemoryClient client;
    ASSERT_TRUE(world.Run(client, StreamBody()));
  }
  EXPECT_NEAR(tokens_per_event(), 3, 0.3);
  EXPECT_EQ(world.book.Of<RequestClosed>().back().output, Tokens(151));
}

TEST(Session, AClientThatGoesClosesTicketAndEngineAtOnce) {
  Latch began, left;
  ScriptedEngine engine([&](EngineCall& call) {
    call.BeginStream();
    call.Event(DeltaJson("w"));
    began.Set();
    if (call.wire.WaitClosed()) left.Set();
  });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  MemoryClient client;
  std::future<void> ended = world.Begin(client, StreamBody());
  ASSERT_TRUE(began.Wait());
  world.Call([&] { client.Go(); });
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(left.Wait());
  const auto closed = world.book.Of<RequestClosed>();
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].outcome, Outcome::kClientGone);
  EXPECT_EQ(client.ends, 0);
}

TEST(Session, ARefusalIsOneError) {
  ScriptedEngine engine([](EngineCall& call) { call.Answer(200, kWhole); });
  SessionWorld world(engine.url());
  ASSERT_TRUE(world.WaitUp());
  MemoryClient unknown;
  ASSERT_TRUE(world.Run(unknown, R"({"model":"none","messages":[{"role":"user","content":"a"}]})"));
  EXPECT_EQ(unknown.error.code, "model_not_found");
  EXPECT_EQ(unknown.ends, 1);
  MemoryClient bad;
  ASSERT_TRUE(world.Run(bad, "{"));
  EXPECT_EQ(bad.error.code, "invalid_json");
  world.orders.hold = true;
  world.orders.refuse_parked = true;
  MemoryClient late;
  ASSERT_TRUE(world.Run(late, ChatBody()));
  EXPECT_EQ(late.error.reason, TraitsOf(Refusal::kQueueTimeout).label);
  EXPECT_EQ(engine.calls(), 0);
}

TEST(Session, ParksAndAbortsAreInTheDecisionLog) {
  const std::string path = testing::TempDir() + "session_test_decisions.log";
  std::remove(path.c_str());
  auto log = DecisionLog::Open({path, /*all=*/true});
  ASSERT_TRUE(log.ok()) << log.status();
  ScriptedEngine engine([](EngineCall& call) {
    call.BeginStream();
    if (call.request.body.find("assistant") == std::string::npos) {
      call.Event(DeltaJson("w"));
      call.wire.WaitClosed();
      return;
    }
    call.Event(DeltaJson("x"));
    call.Event(FinishJson());
    call.EndStream();
  });
  SessionWorld world(engine.url(), *std::move(log));
  world.log_path = path;
  ASSERT_TRUE(world.WaitUp());
  world.orders.hold = true;
  world.orders.refuse_parked = true;
  MemoryClient parked;
  ASSERT_TRUE(world.Run(parked, ChatBody()));
  EXPECT_THAT(world.Log(), testing::HasSubstr(R"("event":"park","request":"req-1","endpoint":"chat","model":"m")"));
  EXPECT_THAT(world.Log(), testing::HasSubstr(R"("reason":"memory")"));
  world.orders.hold = false;
  MemoryClient aborted;
  std::future<void> ended = world.Begin(aborted, StreamBody());
  ASSERT_TRUE(Eventually([&] { return !world.book.Of<FirstToken>().empty(); }));
  world.Abort();
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_THAT(world.Log(), testing::HasSubstr(R"("event":"abort","request":"req-1")"));
  std::remove(path.c_str());
}

TEST(Session, EachErrorLineTellsWhatEnded) {
  const std::string path = testing::TempDir() + "session_test_errors.log";
  std::remove(path.c_str());
  auto log = DecisionLog::Open({path});
  ASSERT_TRUE(log.ok()) << log.status();
  ScriptedEngine engine([](EngineCall& call) {
    const bool bad = call.request.body.find("bad") != std::string::npos;
    call.Answer(bad ? 400 : 503, R"({"error":{"message":"no"}})");
  });
  SessionWorld world(engine.url(), *std::move(log));
  world.log_path = path;
  ASSERT_TRUE(world.WaitUp());
  const auto lines = [&](const std::string& ended) {
    const std::string text = world.Log();
    int count = 0;
    for (size_t at = text.find(ended); at != std::string::npos; at = text.find(ended, at + 1)) ++count;
    return count;
  };
  MemoryClient full;
  ASSERT_TRUE(world.Run(full, ChatBody()));
  EXPECT_EQ(lines(R"("ended":"attempt")"), engine.calls()) << world.Log();
  EXPECT_EQ(lines(R"("ended":"request")"), 1) << world.Log();
  MemoryClient rejected;
  ASSERT_TRUE(world.Run(rejected, ChatBody(",\"user\":\"bad\"")));
  EXPECT_EQ(lines(R"("ended":"attempt")"), engine.calls() - 1) << world.Log();
  EXPECT_EQ(lines(R"("ended":"request")"), 2) << world.Log();
  std::remove(path.c_str());
}

}  // namespace
}  // namespace penstock
