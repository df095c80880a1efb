// Events and answers of Anthropic's dialect.
#include "backends/dialect/messages/message_events.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/dialect/answer_reader.h"

namespace penstock {
namespace {

StreamFacts Read(absl::string_view data, absl::string_view name = "") {
  SseSplitter::Event event;
  event.data = data;
  event.name = name;
  return ReadMessageEvent(event);
}

TEST(MessageEvents, TheFirstEventCountsThePromptWithItsCachedPart) {
  const StreamFacts facts =
      Read(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":5,"cache_read_input_tokens":20,)"
           R"("cache_creation_input_tokens":3,"output_tokens":1}}})");
  ASSERT_TRUE(facts.usage.has_value());
  EXPECT_EQ(facts.usage->prompt, Tokens(28));
  EXPECT_EQ(facts.usage->cached, Tokens(20));
  EXPECT_FALSE(facts.has_text);
  EXPECT_FALSE(facts.done);
}

TEST(MessageEvents, DeltasOfTextThinkingAndInputAreText) {
  for (const char* data : {R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}})",
                           R"({"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"a"}})",
                           R"({"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}})",
                           R"({"type":"content_block_start","content_block":{"type":"tool_use","name":"look"}})"}) {
    EXPECT_TRUE(Read(data).has_text) << data;
  }
  for (const char* data : {R"({"type":"content_block_start","content_block":{"type":"text","text":""}})",
                           R"({"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}})",
                           R"({"type":"content_block_stop","index":0})"}) {
    EXPECT_FALSE(Read(data).has_text) << data;
  }
}

TEST(MessageEvents, ASecondTextInADeltaIsOtherText) {
  const auto read = [](const std::string& more) {
    return Read(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"q")" + more + "}}");
  };
  EXPECT_FALSE(read("").other_text);
  EXPECT_TRUE(read(R"(,"text":"r")").other_text);
  EXPECT_TRUE(read(R"(,"text":"")").other_text);
  EXPECT_TRUE(read(R"(},"delta":{"type":"text_delta","text":"r")").other_text);
}

TEST(MessageEvents, TheReasonOfTheEndComesInOpenAisWords) {
  const auto reason = [](const std::string& word) {
    const StreamFacts facts =
        Read(R"({"type":"message_delta","delta":{"stop_reason":")" + word + R"("},"usage":{"output_tokens":9}})");
    EXPECT_TRUE(facts.finish);
    EXPECT_EQ(facts.usage->output, Tokens(9));
    return facts.finish_reason;
  };
  EXPECT_EQ(reason("end_turn"), "stop");
  EXPECT_EQ(reason("stop_sequence"), "stop");
  EXPECT_EQ(reason("max_tokens"), "length");
  EXPECT_EQ(reason("tool_use"), "tool_calls");
  EXPECT_EQ(reason("refusal"), "content_filter");
  EXPECT_FALSE(Read(R"({"type":"message_delta","delta":{"stop_reason":null}})").finish);
}

TEST(MessageEvents, TheLastEventIsTheMark) {
  const StreamFacts stop = Read(R"({"type":"message_stop"})");
  EXPECT_TRUE(stop.done);
  EXPECT_FALSE(stop.finish);
  EXPECT_TRUE(Read("[DONE]").done);
}

TEST(MessageEvents, APingIsNothingAndAnErrorIsOne) {
  EXPECT_TRUE(Read(R"({"type": "ping"})").nothing);
  const StreamFacts error = Read(R"({"type":"error","error":{"type":"overloaded_error","message":"full"}})", "error");
  ASSERT_TRUE(error.error.has_value());
  EXPECT_EQ(error.error->message, "full");
  EXPECT_EQ(error.error->type, "overloaded_error");
  EXPECT_TRUE(Read(R"({"message":"full"})", "error").error.has_value());
}

TEST(MessageEvents, OtherBytesAreMalformed) {
  for (const char* data : {"{", "[1]", "{\"type\":\"\xff\"}", "null"}) EXPECT_TRUE(Read(data).malformed) << data;
}

TEST(MessageAnswers, AWholeAnswerHasUsageAndReasonWholeAndInPieces) {
  const std::string body =
      R"({"id":"m","type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"max_tokens",)"
      R"("usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":4}})";
  AnswerScan scan(Endpoint::kMessages);
  for (const char& c : body) ASSERT_TRUE(scan.Feed(absl::string_view(&c, 1)));
  for (const AnswerFacts& facts : {ReadAnswer(Endpoint::kMessages, body), scan.Finish()}) {
    EXPECT_EQ(facts.finish_reason, "length");
    EXPECT_FALSE(facts.error);
    ASSERT_TRUE(facts.usage.has_value());
    EXPECT_EQ(facts.usage->prompt, Tokens(7));
    EXPECT_EQ(facts.usage->cached, Tokens(2));
    EXPECT_EQ(facts.usage->output, Tokens(4));
  }
  EXPECT_TRUE(ReadAnswer(Endpoint::kMessages, R"({"type":"error","error":{"message":"x"}})").error);
}

TEST(MessageAnswers, AnImpossibleCachedCountIsLeftOut) {
  const AnswerFacts facts =
      ReadAnswer(Endpoint::kMessages, R"({"usage":{"input_tokens":5,"cache_read_input_tokens":9223372036854775807}})");
  EXPECT_EQ(facts.usage->prompt, Tokens(5));
  EXPECT_LT(facts.usage->cached, Tokens(0));
}

}  // namespace
}  // namespace penstock
