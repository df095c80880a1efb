// The memory of the answers of lines, and events that are too long for their loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "router/session/state/answer_memory.h"
#include "tests/batches/one_line.h"

namespace penstock::jobs {
namespace {

TEST(LineSession, ALongEventIsReadBesideTheLoopInItsPlace) {
  const std::string word(300'000, 'w');
  OneLine line(
      [&](EngineCall& call) {
        call.BeginStream();
        call.Event(TextJson("a"));
        call.Event(TextJson(word));
        call.Event(TextJson("b"));
        call.Event(TextJson(word));
        call.Event(TextJson("c", "\"stop\""));
        call.Event(kUsage);
        call.Chunk("data: [DONE]\n\n");
        call.EndStream();
      },
      Endpoint::kCompletions);
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, kPrompt));
  EXPECT_EQ(client.result().status, 200);
  EXPECT_EQ(Json::parse(client.TakeBody().Join())["choices"][0]["text"], "a" + word + "b" + word + "c");
}

TEST(LineSession, ALongEventThatIsNoAnswerIsAFaultOfItsEngine) {
  int runs = 0;
  OneLine line(Choices({R"("text":"a")", R"("text":[")" + std::string(100'000, 'w') + R"("])"}, &runs),
               Endpoint::kCompletions);
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, kPrompt));
  EXPECT_TRUE(client.result().unfit);
  EXPECT_THAT(client.TakeBody().Join(), ::testing::HasSubstr("makes no answer (choice field text)"));
  EXPECT_EQ(world.edge().answers.used(), Bytes(0));
}

std::string AnswerOfLength(size_t size) {
  return R"({"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":")" +
         std::string(size, 'w') + R"("},"finish_reason":"stop"}]})";
}

TEST(LineMemory, AnAnswerHoldsMemoryOfTheAnswers) {
  OneLine line([](EngineCall& call) { call.Answer(200, AnswerOfLength(3 << 20)); });
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, ChatBody()));
  EXPECT_EQ(client.result().status, 200);
  EXPECT_GE(world.edge().answers.used(), Bytes(3 << 20));
  EXPECT_LT(world.edge().answers.used(), Bytes(4 << 20));
  client.TakeMemory().reset();
  EXPECT_EQ(world.edge().answers.used(), Bytes(0));
}

TEST(LineMemory, AnAnswerThatFindsNoMemoryIsWantedAgain) {
  OneLine line([](EngineCall& call) { call.Answer(200, AnswerOfLength(400'000)); }, Endpoint::kChat, Bytes(1'500'000));
  auto& [engine, world, inside, client] = line;
  AnswerMemory others(world.edge(), kBudget, 1);
  ASSERT_TRUE(others.Hold(1'300'000));
  const Bytes held = world.edge().answers.used();
  ASSERT_TRUE(world.Run(client, ChatBody()));
  const LineResult result = client.result();
  EXPECT_EQ(result.status, 503);
  EXPECT_EQ(EndOf(result, FaultsOf(result)), LineEnd::kAgain);
  EXPECT_EQ(world.edge().answers.used(), held);
}

TEST(LineMemory, AnAnswerThatNeverFitsFailsWithItsReason) {
  OneLine line([](EngineCall& call) { call.Answer(200, AnswerOfLength(400'000)); }, Endpoint::kChat, Bytes(700'000));
  auto& [engine, world, inside, client] = line;
  ASSERT_TRUE(world.Run(client, ChatBody()));
  EXPECT_EQ(EndOf(client.result(), 0), LineEnd::kFailed);
  EXPECT_THAT(client.TakeBody().Join(), ::testing::HasSubstr("third of limits.max_answer_memory"));
}

}  // namespace
}  // namespace penstock::jobs
