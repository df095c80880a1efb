// A line of a batch runs through a session without a socket, in front of a scripted engine on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/batches/one_line.h"

namespace penstock::jobs {
namespace {

TEST(LineSession, AWholeAnswerIsGathered) {
  OneLine line([](EngineCall& call) { call.Answer(200, kWhole); });
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, ChatBody()));
  EXPECT_EQ(client.result().status, 200);
  EXPECT_EQ(client.TakeBody().Join(), kWhole);
  EXPECT_EQ(inside.forwards, 1);
  EXPECT_EQ(inside.usage.prompt, Tokens(9));
  const auto arrived = world.book.Of<RequestArrived>();
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].tenant, TenantId(7));
  EXPECT_EQ(arrived[0].service_class, ClassId(2));
}

TEST(LineSession, ARefusalHasItsStatusInTheRecord) {
  OneLine line([](EngineCall&) {});
  const ApiError error = FromRefusal(Refuse{RequestId(), Refusal::kUnknownModel, Duration(), 0, 0}, "none");
  boost::asio::co_spawn(line.world.loop().io(), line.client.Error(error), boost::asio::use_future).get();
  EXPECT_EQ(line.client.status(), 404);
  EXPECT_EQ(line.client.result().status, 404);
}

TEST(LineSession, AnAnswerThatCanBeContinuedIsGatheredFromAStream) {
  std::string asked;
  OneLine line(
      [&](EngineCall& call) {
        asked = call.request.body;
        call.BeginStream();
        for (const char* word : {"a", "b", "c"}) call.Event(TextJson(word));
        call.Event(TextJson("d", "\"stop\""));
        call.Event(kUsage);
        call.Chunk("data: [DONE]\n\n");
        call.EndStream();
      },
      Endpoint::kCompletions);
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, kPrompt));
  EXPECT_EQ(client.result().status, 200);
  const Json answer = Json::parse(client.TakeBody().Join());
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], "abcd");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
  EXPECT_EQ(Json::parse(asked)["stream"], true);
  EXPECT_EQ(Json::parse(asked)["stream_options"]["include_usage"], true);
  EXPECT_EQ(inside.usage.output, Tokens(4));
  EXPECT_TRUE(world.book.Of<RequestArrived>()[0].continues);
}

TEST(LineSession, FieldsThatNoRuleKnowsAreInTheAnswer) {
  int runs = 0;
  OneLine line(Choices({R"("text":"a","token_ids":[1])", R"("text":"b","token_ids":[2])"}, &runs),
               Endpoint::kCompletions);
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, kPrompt));
  EXPECT_EQ(client.result().status, 200);
  const Json choice = Json::parse(client.TakeBody().Join())["choices"][0];
  EXPECT_EQ(choice["text"], "ab");
  EXPECT_EQ(choice["token_ids"], Json::parse("[1,2]"));
  EXPECT_EQ(runs, 1);
}

TEST(LineSession, EventsWithoutChoicesArePassedOver) {
  OneLine line(
      [](EngineCall& call) {
        call.BeginStream();
        call.Event(R"({"object":"ping"})");
        call.Event(TextJson("a"));
        call.Event(R"({"error":null})");
        call.Event(R"({"vendor":{"queue":3}})");
        call.Event(TextJson("b", "\"stop\""));
        call.Event(R"({"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}})");
        call.Chunk("data: [DONE]\n\n");
        call.EndStream();
      },
      Endpoint::kCompletions);
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, kPrompt));
  EXPECT_EQ(client.result().status, 200);
  const Json answer = Json::parse(client.TakeBody().Join());
  EXPECT_EQ(answer["choices"][0]["text"], "ab");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
  EXPECT_EQ(inside.usage.output, Tokens(4));
}

TEST(LineSession, AStreamThatMakesNoAnswerIsOneFaultOfItsEngine) {
  for (const char* odd : {R"("text":5)", R"("text":["b"])"}) {
    int runs = 0;
    OneLine line(Choices({R"("text":"a")", odd, R"("text":"b")"}, &runs), Endpoint::kCompletions);
    auto& [engine, world, inside, client] = line;
    ASSERT_TRUE(world.Run(client, kPrompt));
    EXPECT_EQ(client.result().status, 502);
    EXPECT_TRUE(client.result().engine_fault);
    EXPECT_TRUE(client.result().unfit);
    EXPECT_THAT(client.TakeBody().Join(), ::testing::HasSubstr("makes no answer (choice field text)"));
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(inside.usage.output, Tokens(0)) << "a fault is no answer";
  }
}

// An engine that is aborted in the middle of its first answer, and gives a second one.
struct TwoRuns {
  explicit TwoRuns(Config (*config)(const std::string&)) : world(config(engine.url())) {
    world.endpoint = Endpoint::kCompletions;
  }

  // The answer of a line that is evicted once it has its first word.
  Json Run() {
    EXPECT_TRUE(world.WaitUp());
    world.inside = &inside.request;
    LineClient client(world.loop(), kBudget, Endpoint::kCompletions);
    std::future<void> ended = world.Begin(client, kPrompt);
    EXPECT_TRUE(Eventually([&] { return !world.book.Of<FirstToken>().empty(); }));
    world.Abort();
    EXPECT_EQ(ended.wait_for(kPatience), std::future_status::ready);
    return Json::parse(client.TakeBody().Join());
  }

  std::atomic<int> calls{0};
  std::string asked;  // The body of the second run.
  ScriptedEngine engine{[this](EngineCall& call) {
    const bool first = calls++ == 0;
    if (!first) asked = call.request.body;
    call.BeginStream();
    call.Event(TextJson(first ? "one" : " two", first ? "null" : "\"stop\""));
    if (first) {
      call.wire.WaitClosed();
      return;
    }
    call.Event(kUsage);
    call.Chunk("data: [DONE]\n\n");
    call.EndStream();
  }};
  Inside inside;
  SessionWorld world;
};

TEST(LineSession, AnEvictedLineGoesOnFromItsText) {
  TwoRuns runs(ConfigOf);
  EXPECT_EQ(runs.Run()["choices"][0]["text"], "one two");
  EXPECT_EQ(Json::parse(runs.asked)["prompt"], "tellone");
  EXPECT_EQ(runs.inside.requeues, 1);
  EXPECT_EQ(runs.inside.forwards, 2);
}

Config WithoutKeptText(const std::string& url) {
  Config config = ConfigOf(url);
  config.limits.max_kept_text = Bytes(1);
  return config;
}

TEST(LineSession, AnEvictedLineThatCannotGoOnBeginsAnew) {
  TwoRuns runs(WithoutKeptText);
  EXPECT_EQ(runs.Run()["choices"][0]["text"], " two");
  EXPECT_EQ(Json::parse(runs.asked)["prompt"], "tell");
}

TEST(LineSession, ALineThatAsksForAStreamIsRefused) {
  OneLine line([](EngineCall& call) { call.Answer(200, kWhole); });
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, StreamBody()));
  EXPECT_EQ(client.result().status, 400);
  EXPECT_EQ(Json::parse(client.TakeBody().Join())["error"]["param"], "stream");
  EXPECT_EQ(engine.calls(), 0);
}

TEST(LineSession, AnErrorIsTheBodyOfTheLine) {
  OneLine line(
      [](EngineCall& call) { call.Answer(400, R"({"error":{"message":"bad","type":"x","code":null,"param":null}})"); });
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, ChatBody()));
  EXPECT_EQ(EndOf(client.result(), 0), LineEnd::kFailed);
  EXPECT_EQ(Json::parse(client.TakeBody().Join())["error"]["message"], "bad");
}

TEST(LineSession, AFaultOfAnEngineIsNoAnswer) {
  OneLine line([](EngineCall& call) { call.Answer(500, R"({"error":{"message":"oom"}})"); });
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, ChatBody()));
  const LineResult result = client.result();
  EXPECT_EQ(EndOf(result, FaultsOf(result)), LineEnd::kAgain);
  EXPECT_TRUE(result.engine_fault);
}

TEST(LineSession, ALineThatLeavesHasNoAnswer) {
  Latch begun;
  OneLine line([&](EngineCall& call) {
    begun.Set();
    call.wire.WaitClosed();
  });
  auto& [engine, world, inside, client] = line;
  std::future<void> ended = world.Begin(client, ChatBody());
  ASSERT_TRUE(begun.Wait());
  world.Call([&] { client.Leave(); });
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(EndOf(client.result(), 0), LineEnd::kReturned);
}

}  // namespace
}  // namespace penstock::jobs
