#include "backends/dialect/answer_reader.h"

#include <gtest/gtest.h>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

TEST(ReadAnswer, UsageAndFinishOfRecordedAnswers) {
  const AnswerFacts chat = ReadAnswer(Endpoint::kChat, RecordedBody("chat-nonstream"));
  EXPECT_EQ(chat.usage, (Usage{Tokens(15), Tokens(5), Tokens(1)}));
  EXPECT_EQ(chat.finish_reason, "length");
  const AnswerFacts text = ReadAnswer(Endpoint::kCompletions, RecordedBody("completions-nonstream"));
  EXPECT_EQ(text.usage, (Usage{Tokens(6), Tokens(5), Tokens(0)}));
  const AnswerFacts responses = ReadAnswer(Endpoint::kResponses, RecordedBody("responses-nonstream"));
  EXPECT_EQ(responses.usage, (Usage{Tokens(9), Tokens(4), Tokens(3)}));
  EXPECT_EQ(responses.finish_reason, "stop");
  const AnswerFacts embedding = ReadAnswer(Endpoint::kEmbeddings, RecordedBody("embeddings-one"));
  EXPECT_EQ(embedding.usage, (Usage{Tokens(3), Tokens(0)}));
  EXPECT_FALSE(embedding.malformed);
}

TEST(ReadAnswer, TheCachedPartOfThePromptIsReadWhereTheEngineReportsIt) {
  const auto cached = [](const std::string& details) {
    const std::string body = R"({"choices":[],"usage":{"prompt_tokens":90,"completion_tokens":2)" + details + "}}";
    return ReadAnswer(Endpoint::kChat, body).usage->cached;
  };
  EXPECT_EQ(cached(R"(,"prompt_tokens_details":{"audio_tokens":1,"cached_tokens":64})"), Tokens(64));
  EXPECT_EQ(cached(R"(,"input_tokens_details":{"cached_tokens":0})"), Tokens(0));
  EXPECT_EQ(cached(R"(,"prompt_tokens_details":null)"), Tokens(-1));
  EXPECT_EQ(cached(""), Tokens(-1));
}

TEST(ReadAnswer, ChoicesAreAMemberOfTheWholeAnswer) {
  for (const auto& [body, choices] :
       {std::pair(R"({"choices":[{}]})", true), std::pair("{}", false), std::pair(R"({"choices":[]})", false),
        std::pair(R"({"choices":null})", false), std::pair(R"({"choices":{}})", false),
        std::pair(R"({"choices":[[{}]]})", false), std::pair(R"({"choices":[1,"{",null]})", false),
        std::pair(R"({"x":{"choices":[{}]},"y":[{}],"choices":[]})", false),
        std::pair(R"({"a":{"choices":[]},"b":"choices"})", false)}) {
    EXPECT_EQ(ReadAnswer(Endpoint::kChat, body).choices, choices) << body;
    AnswerScan scan(Endpoint::kChat);
    EXPECT_TRUE(scan.Feed(body));
    EXPECT_EQ(scan.Finish().choices, choices) << body;
  }
}

TEST(ReadAnswer, LengthWinsIfAnyChoiceWasCut) {
  const std::string body =
      R"({"choices":[{"finish_reason":"stop"},{"finish_reason":"length"},{"finish_reason":"stop"}]})";
  EXPECT_EQ(ReadAnswer(Endpoint::kChat, body).finish_reason, "length");
}

TEST(ReadAnswer, RerankTellsOnlyATotal) {
  EXPECT_EQ(ReadAnswer(Endpoint::kRerank, R"({"usage":{"total_tokens":40},"results":[]})").usage,
            (Usage{Tokens(40), Tokens(0)}));
}

TEST(ReadAnswer, GarbageIsMalformed) {
  EXPECT_TRUE(ReadAnswer(Endpoint::kChat, "proxy error").malformed);
  EXPECT_TRUE(ReadAnswer(Endpoint::kChat, "").malformed);
  EXPECT_TRUE(ReadAnswer(Endpoint::kChat, R"({"choices":[{"finish_reason":"stop"}])").malformed);
}

TEST(ReadAnswer, ALongAnswerAfterAShortOneAndBackAreReadInFull) {
  std::string numbers = "0";
  for (int i = 0; i < 400'000; ++i) numbers += ",0.125";
  const std::string body = R"({"data":[{"embedding":[)" + numbers + R"(]}],"usage":{"prompt_tokens":7}})";
  EXPECT_EQ(ReadAnswer(Endpoint::kEmbeddings, R"({"usage":{"prompt_tokens":1}})").usage->prompt, Tokens(1));
  EXPECT_EQ(ReadAnswer(Endpoint::kEmbeddings, body).usage->prompt, Tokens(7));
  EXPECT_EQ(ReadAnswer(Endpoint::kEmbeddings, R"({"usage":{"prompt_tokens":2}})").usage->prompt, Tokens(2));
}

}  // namespace
}  // namespace penstock
