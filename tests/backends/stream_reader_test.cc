#include <gtest/gtest.h>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

// The sum of the facts of a whole stream.
struct Summary {
  int texts = 0;
  int finishes = 0;
  int done = 0;
  int malformed = 0;
  int usage_only = 0;
  std::string finish_reason;
  std::optional<Usage> usage;
  std::optional<EngineError> error;
};

Summary Summarize(Endpoint endpoint, const std::string& body) {
  Summary sum;
  for (const OwnedEvent& event : Split(body)) {
    const StreamFacts facts = Read(endpoint, event);
    sum.texts += facts.has_text;
    sum.finishes += facts.finish;
    sum.done += facts.done;
    sum.malformed += facts.malformed;
    sum.usage_only += facts.usage_only;
    if (facts.finish) sum.finish_reason = facts.finish_reason;
    if (facts.usage) sum.usage = facts.usage;
    if (facts.error) sum.error = facts.error;
  }
  return sum;
}

TEST(ReadStreamEvent, ARecordedChatStreamHasFiveTextsOneFinishAndDone) {
  const Summary sum = Summarize(Endpoint::kChat, RecordedBody("chat-stream"));
  EXPECT_EQ(sum.texts, 5);
  EXPECT_EQ(sum.finishes, 1);
  EXPECT_EQ(sum.finish_reason, "length");
  EXPECT_EQ(sum.done, 1);
  EXPECT_EQ(sum.malformed, 0);
  EXPECT_FALSE(sum.usage.has_value());
}

// vLLM's last chunk of a request when the server is asked to end.
TEST(ReadStreamEvent, AnAbortIsAnErrorOfTheEngine) {
  const Summary sum =
      Summarize(Endpoint::kChat,
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
                "man\"},\"logprobs\":null,\"finish_reason\":\"abort\",\"stop_reason\":null}]}\n\n");
  ASSERT_TRUE(sum.error.has_value());
  EXPECT_EQ(sum.error->status, 500);
  EXPECT_EQ(sum.error->message, "The engine aborted the request.");
}

TEST(ReadStreamEvent, TheExtraChunkOfIncludeUsageIsUsageOnly) {
  const Summary sum = Summarize(Endpoint::kChat, RecordedBody("chat-stream-usage"));
  EXPECT_EQ(sum.usage_only, 1);
  EXPECT_EQ(sum.usage, (Usage{Tokens(15), Tokens(5), Tokens(14)}));
}

TEST(ReadStreamEvent, AnExtraChunkWithImpossibleCountsIsUsageOnlyToo) {
  for (const char* usage : {R"({"prompt_tokens":-1})", R"({"prompt_tokens":"x"})", R"({"prompt_tokens":1.5})", "{}"}) {
    const std::string data = std::string(R"(data: {"choices":[],"usage":)") + usage + "}\n\n";
    EXPECT_EQ(Summarize(Endpoint::kChat, data).usage_only, 1) << usage;
  }
}

TEST(ReadStreamEvent, ACompletionStreamTellsUsageWithItsFinishUnasked) {
  const Summary sum = Summarize(Endpoint::kCompletions, RecordedBody("completions-stream"));
  EXPECT_EQ(sum.texts, 5);
  EXPECT_EQ(sum.usage_only, 0);
  EXPECT_EQ(sum.finish_reason, "length");
  EXPECT_EQ(sum.usage, (Usage{Tokens(6), Tokens(5), Tokens(5)}));
  EXPECT_EQ(sum.done, 1);
}

TEST(ReadStreamEvent, SeveralChoicesFinishOneByOne) {
  EXPECT_EQ(Summarize(Endpoint::kChat, RecordedBody("chat-stream-n2")).finishes, 2);
  EXPECT_EQ(Summarize(Endpoint::kCompletions, RecordedBody("completions-stream-n2")).finishes, 2);
}

TEST(ReadStreamEvent, TheExhaustedPoolIsAnErrorEventWithItsStatusAndNoDone) {
  const Summary sum = Summarize(Endpoint::kCompletions, RecordedBody("raw-stream-kv-exhausted"));
  ASSERT_TRUE(sum.error.has_value());
  EXPECT_EQ(sum.error->status, 500);
  EXPECT_EQ(sum.error->type, "server_error");
  EXPECT_EQ(sum.error->message, "Context size has been exceeded.");
  EXPECT_EQ(sum.done, 0);
  EXPECT_EQ(sum.finishes, 0);
}

TEST(ReadStreamEvent, AStreamCutByKillHasTextsButNeitherFinishNorDone) {
  const Summary sum = Summarize(Endpoint::kCompletions, RecordedBody("raw-stream-cut-by-kill9"));
  EXPECT_EQ(sum.texts, 4);
  EXPECT_EQ(sum.finishes, 0);
  EXPECT_EQ(sum.done, 0);
  EXPECT_FALSE(sum.error.has_value());
}

TEST(ReadStreamEvent, OutputThatIsNotUtf8EndsInAnErrorEvent) {
  for (const char* name : {"output-invalid-utf8-completions-stream", "output-invalid-utf8-chat-completions-stream"}) {
    const Endpoint endpoint =
        std::string(name).find("chat") == std::string::npos ? Endpoint::kCompletions : Endpoint::kChat;
    const Summary sum = Summarize(endpoint, RecordedBody(name));
    ASSERT_TRUE(sum.error.has_value()) << name;
    EXPECT_EQ(sum.error->status, 500) << name;
    EXPECT_GT(sum.texts, 0) << name;
    EXPECT_EQ(sum.malformed, 0) << name;
  }
}

TEST(ReadStreamEvent, TheResponsesDialectEndsWithItsCompletedEvent) {
  const Summary sum = Summarize(Endpoint::kResponses, RecordedBody("responses-stream"));
  EXPECT_EQ(sum.texts, 3);
  EXPECT_EQ(sum.done, 1);
  EXPECT_EQ(sum.finish_reason, "stop");
  EXPECT_EQ(sum.usage, (Usage{Tokens(9), Tokens(3), Tokens(8)}));
}

TEST(ReadStreamEvent, AnIncompleteResponseWasCutAtItsLimit) {
  const StreamFacts facts = ReadData(
      Endpoint::kResponses,
      R"({"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":8}},"type":"response.incomplete"})");
  EXPECT_TRUE(facts.done);
  EXPECT_TRUE(facts.finish);
  EXPECT_EQ(facts.finish_reason, "length");
  EXPECT_EQ(facts.usage, (Usage{Tokens(3), Tokens(8)}));
}

TEST(ReadStreamEvent, AFailedResponseCarriesItsError) {
  const StreamFacts facts = ReadData(
      Endpoint::kResponses,
      R"({"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"a } b"}}})");
  EXPECT_TRUE(facts.done);
  EXPECT_FALSE(facts.finish);
  ASSERT_TRUE(facts.error.has_value());
  EXPECT_EQ(facts.error->message, "a } b");
  EXPECT_EQ(facts.error->code, "server_error");
  EXPECT_EQ(facts.error->status, 500);
}

TEST(ReadStreamEvent, AnErrorEventOfTheResponsesDialectIsAnError) {
  const StreamFacts facts = ReadData(Endpoint::kResponses, R"({"type":"error","code":"x","message":"bad"})");
  ASSERT_TRUE(facts.error.has_value());
  EXPECT_EQ(facts.error->message, "bad");
  EXPECT_TRUE(facts.done);
}

TEST(ReadStreamEvent, TheRoleChunkHasNoTextWhetherItsContentIsNullOrEmpty) {
  EXPECT_FALSE(ReadData(Endpoint::kChat, R"({"choices":[{"delta":{"role":"assistant","content":null}}]})").has_text);
  EXPECT_FALSE(ReadData(Endpoint::kChat, R"({"choices":[{"delta":{"role":"assistant","content":""}}]})").has_text);
}

TEST(ReadStreamEvent, ReasoningAndToolCallsAreText) {
  for (const char* delta :
       {R"({"content":"a"})", R"({"reasoning_content":"a"})", R"({"reasoning":"a"})", R"({"refusal":"a"})",
        R"({"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]})",
        R"({"tool_calls":[{"index":0,"function":{"arguments":"{"}}]})", R"({"content":"\"quoted\""})",
        R"({"content":"\\"})"}) {
    EXPECT_TRUE(ReadData(Endpoint::kChat, std::string(R"({"choices":[{"index":0,"delta":)") + delta + "}]}").has_text)
        << delta;
  }
  EXPECT_FALSE(
      ReadData(Endpoint::kChat, R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":""}}]}}]})").has_text);
}

TEST(ReadStreamEvent, ContentThatIsAListIsTextThatNoPromptCanContinue) {
  for (const auto& [content, text] : {std::pair(R"([{"type":"text","text":"a"}])", true), std::pair("[]", false)}) {
    const std::string body = std::string(R"({"choices":[{"delta":{"content":)") + content + "}}]}";
    const StreamFacts facts = ReadData(Endpoint::kChat, body);
    EXPECT_EQ(facts.has_text, text) << content;
    EXPECT_EQ(facts.other_text, text) << content;
    EXPECT_EQ(facts.content, "");
    EXPECT_EQ(facts.only_text, "");
  }
}

TEST(ReadStreamEvent, TextThatLooksLikeStructureIsOnlyText) {
  const StreamFacts facts = ReadData(
      Endpoint::kChat,
      R"({"choices":[{"delta":{"content":"\"finish_reason\":\"stop\",\"error\":{\"message\":\"x\"}"},"finish_reason":null}]})");
  EXPECT_TRUE(facts.has_text);
  EXPECT_FALSE(facts.finish);
  EXPECT_FALSE(facts.error.has_value());
}

TEST(ReadStreamEvent, UsageInEveryChunkIsNotTheExtraChunk) {
  const StreamFacts facts = ReadData(
      Endpoint::kChat, R"({"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}})");
  EXPECT_EQ(facts.usage, (Usage{Tokens(4), Tokens(2)}));
  EXPECT_FALSE(facts.usage_only);
}

TEST(ReadStreamEvent, NullUsageAndNullErrorAreAbsent) {
  const StreamFacts facts = ReadData(Endpoint::kChat, R"({"choices":[],"usage":null,"error":null})");
  EXPECT_FALSE(facts.usage.has_value());
  EXPECT_FALSE(facts.usage_only);
  EXPECT_FALSE(facts.error.has_value());
  EXPECT_FALSE(facts.malformed);
}

TEST(ReadStreamEvent, FlatAndTgiErrorsAreErrors) {
  const auto flat =
      ReadData(Endpoint::kChat, R"({"object":"error","message":"The request queue is full.","code":503})");
  ASSERT_TRUE(flat.error.has_value());
  EXPECT_EQ(flat.error->status, 503);
  const auto tgi = ReadData(Endpoint::kChat, R"({"error":"Model is overloaded","error_type":"overloaded"})");
  ASSERT_TRUE(tgi.error.has_value());
  EXPECT_EQ(tgi.error->status, 429);
  EXPECT_EQ(tgi.error->message, "Model is overloaded");
}

TEST(ReadStreamEvent, WhatIsNotOneJsonObjectIsMalformed) {
  for (const char* data : {"{", "nonsense", "[1]", R"({"choices":[{"delta":{"content":"a)", R"({"choices":[)",
                           R"({"choices":[]} trailing)", R"({"choices" [1]})", "{\"choices\":[{\"text\":\"\xff\"}]}",
                           "proxy error: Failed to read connection"}) {
    EXPECT_TRUE(ReadData(Endpoint::kChat, data).malformed) << data;
  }
}

TEST(ReadStreamEvent, UnexpectedTypesAreIgnored) {
  const StreamFacts facts = ReadData(
      Endpoint::kChat, R"({"choices":{"a":1},"usage":{"prompt_tokens":"x","completion_tokens":-3},"object":4})");
  EXPECT_FALSE(facts.malformed);
  EXPECT_FALSE(facts.usage.has_value());
}

TEST(ReadStreamEvent, CommentsSayNothing) {
  const StreamFacts facts = Read(Endpoint::kChat, OwnedEvent{":\n\n", "", "", true});
  EXPECT_FALSE(facts.malformed);
  EXPECT_FALSE(facts.done);
}

TEST(ReadStreamEvent, ContentWithABrokenEscapeIsNoEvent) {
  for (const char* content : {R"(\x41)", R"(\u00)"}) {
    const std::string delta = std::string(R"({"choices":[{"delta":{"content":")") + content + "\"}}]}";
    EXPECT_TRUE(ReadData(Endpoint::kChat, delta).malformed);
  }
  EXPECT_FALSE(ReadData(Endpoint::kChat, R"({"choices":[{"delta":{"content":"\ud83d"}}]})").malformed);
}

TEST(ReadStreamEvent, TextThatOneContentCannotRepeatIsOtherText) {
  for (const char* choices :
       {R"([{"index":0,"delta":{"content":"q"}},{"index":0,"delta":{"content":"r"}}])",
        R"([{"index":0,"delta":{"content":"q","content":"r"}}])", R"([{"delta":{"content":"q","content":""}}])",
        R"([{"delta":{"content":"q","content":null}}])", R"([{"delta":{"content":"q"},"delta":{}}])",
        R"([{"delta":{"content":"q"}}],"choices":[])", R"([{"delta":{"content":"q"},"text":"r"}])",
        R"([{"text":"q","text":"r"}])", R"([{"index":1,"delta":{"content":"q"}}])",
        R"([{"delta":{"content":"q"},"index":"a"}])", R"([{"index":1,"delta":{},"finish_reason":"stop"}])"}) {
    const StreamFacts facts = ReadData(Endpoint::kChat, std::string(R"({"choices":)") + choices + "}");
    EXPECT_FALSE(facts.malformed) << choices;
    EXPECT_TRUE(facts.other_text) << choices;
  }
  for (const char* choices : {R"([{"index":0,"delta":{"role":"assistant","content":"q"},"finish_reason":null}])",
                              R"([{"delta":{"content":"q"}}])", R"([{"index":null,"text":"q"}])",
                              R"([{"index":0,"delta":{"content":""}},{"index":0,"delta":{"content":"q"}}])"}) {
    const OwnedEvent event{"", std::string(R"({"choices":)") + choices + "}", ""};
    const StreamFacts facts = Read(Endpoint::kChat, event);
    EXPECT_EQ(facts.content, "q") << choices;
    EXPECT_FALSE(facts.other_text) << choices;
  }
}

}  // namespace
}  // namespace penstock
