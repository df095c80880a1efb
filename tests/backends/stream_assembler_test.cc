#include "backends/dialect/assembly/stream_assembler.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/backends/recording.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::string> TextOf(absl::StatusOr<JsonPieces> answer, size_t piece = 7) {
  if (!answer.ok()) return answer.status();
  std::string text;
  while (answer->Write(piece, &text)) continue;
  return text;
}

absl::StatusOr<std::string> Assemble(Endpoint endpoint, const std::vector<std::string>& events) {
  StreamAssembler assembler(endpoint);
  for (const std::string& event : events) {
    if (absl::Status added = assembler.Add(event); !added.ok()) return added;
  }
  return TextOf(assembler.Finish());
}

Json AssembleRecording(Endpoint endpoint, const std::string& name) {
  std::vector<std::string> events;
  for (const OwnedEvent& event : Split(RecordedBody(name))) events.push_back(event.data);
  const auto answer = Assemble(endpoint, events);
  EXPECT_TRUE(answer.ok()) << name << ": " << answer.status();
  return answer.ok() ? Json::parse(*answer) : Json();
}

TEST(StreamAssembler, ItsBytesAreTheTextAndWhateverElseItStores) {
  StreamAssembler assembler(Endpoint::kChat);
  const auto add = [&](const std::string& more, const std::string& delta) {
    return assembler.Add(R"({"id":"c1","created":5)" + more + R"(,"choices":[{"index":0,"delta":)" + delta + "}]}")
        .ok();
  };
  ASSERT_TRUE(add("", R"({"role":"assistant","content":""})"));
  const size_t opening = assembler.bytes();
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(add("", R"({"content":"word"})"));
  EXPECT_EQ(assembler.bytes() - opening, 4'000u);
  ASSERT_TRUE(add(R"(,"timings":")" + std::string(500, 't') + '"', R"({"content":"word"})"));
  EXPECT_GT(assembler.bytes() - opening, 4'500u);
  const std::string call =
      R"({"tool_calls":[{"index":0,"function":{"arguments":")" + std::string(2'000, 'a') + R"("}}]})";
  ASSERT_TRUE(add("", call));
  EXPECT_GT(assembler.bytes() - opening, 6'500u);
}

TEST(StreamAssembler, AChatStreamBecomesTheAnswerTheEngineGivesUnstreamed) {
  const Json made = AssembleRecording(Endpoint::kChat, "chat-stream-usage");
  const Json real = Json::parse(RecordedBody("chat-nonstream"));
  EXPECT_EQ(made["choices"][0]["message"], real["choices"][0]["message"]);
  EXPECT_EQ(made["choices"][0]["finish_reason"], real["choices"][0]["finish_reason"]);
  for (const char* key : {"prompt_tokens", "completion_tokens", "total_tokens"}) {
    EXPECT_EQ(made["usage"][key], real["usage"][key]) << key;
  }
  EXPECT_EQ(made["object"], "chat.completion");
  EXPECT_EQ(made["model"], "tiny-s");
  EXPECT_EQ(made["system_fingerprint"], real["system_fingerprint"]);
  for (const auto& [key, value] : real.items()) EXPECT_TRUE(made.contains(key)) << key;
}

TEST(StreamAssembler, ACompletionStreamBecomesTheAnswerTheEngineGivesUnstreamed) {
  const Json made = AssembleRecording(Endpoint::kCompletions, "completions-stream-usage");
  const Json real = Json::parse(RecordedBody("completions-nonstream"));
  EXPECT_EQ(made["choices"], real["choices"]);
  EXPECT_EQ(made["object"], "text_completion");
  EXPECT_EQ(made["usage"]["completion_tokens"], real["usage"]["completion_tokens"]);
}

TEST(StreamAssembler, SeveralChoicesAreOrderedAndTheirUsageIsSummed) {
  const Json made = AssembleRecording(Endpoint::kCompletions, "completions-stream-n2");
  ASSERT_EQ(made["choices"].size(), 2u);
  EXPECT_EQ(made["choices"][0]["index"], 0);
  EXPECT_EQ(made["choices"][0]["text"], " Taxstableо");
  EXPECT_EQ(made["choices"][1]["text"], "orig noble ferro");
  EXPECT_EQ(made["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(made["usage"]["completion_tokens"], 6);
  EXPECT_EQ(made["usage"]["total_tokens"], 12);
  const Json chat = AssembleRecording(Endpoint::kChat, "chat-stream-n2");
  EXPECT_EQ(chat["choices"][0]["message"]["content"], " disturbérer////////");
  EXPECT_EQ(chat["choices"][1]["message"]["content"], "atenedeloy");
}

TEST(StreamAssembler, ImpossibleCountsAreBoundedAndTheirSumDoesNotOverflow) {
  std::vector<std::string> events;
  for (int i = 0; i < 4; ++i) {
    events.push_back(R"({"choices":[{"index":)" + std::to_string(i) +
                     R"(,"text":"w","finish_reason":"stop"}],"usage":{"prompt_tokens":-9223372036854775808,)"
                     R"("completion_tokens":9223372036854775807}})");
  }
  const auto answer = Assemble(Endpoint::kCompletions, events);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Json made = Json::parse(*answer);
  EXPECT_EQ(made["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(made["usage"]["completion_tokens"], int64_t{4} << 40);
}

TEST(StreamAssembler, AnAnswerWithoutAnyTokenHasEmptyContent) {
  const Json made = AssembleRecording(Endpoint::kChat, "chat-stream-eos-first");
  EXPECT_EQ(made["choices"][0]["message"]["content"], "");
  EXPECT_EQ(made["choices"][0]["finish_reason"], "stop");
}

TEST(StreamAssembler, ProgressEventsLeaveNoTrace) {
  const Json made = AssembleRecording(Endpoint::kChat, "chat-stream-return_progress");
  EXPECT_FALSE(made.contains("prompt_progress"));
  EXPECT_TRUE(made["choices"][0]["message"]["content"].is_string());
}

TEST(StreamAssembler, ToolCallsAreMergedByIndex) {
  const auto answer = Assemble(
      Endpoint::kChat,
      {R"({"id":"c","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]})",
       R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})", "[DONE]"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Json message = Json::parse(*answer)["choices"][0]["message"];
  EXPECT_TRUE(message["content"].is_null());
  EXPECT_EQ(message["tool_calls"],
            Json::parse(R"([{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
                            {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}])"));
}

TEST(StreamAssembler, ReasoningAndLogprobsAreStrungTogether) {
  const auto answer = Assemble(
      Endpoint::kChat,
      {R"({"choices":[{"index":0,"delta":{"reasoning_content":"th"},"logprobs":{"content":[{"token":"th"}]}}]})",
       R"({"choices":[{"index":0,"delta":{"reasoning_content":"ink"},"logprobs":{"content":[{"token":"ink"}]}}]})",
       R"({"choices":[{"index":0,"delta":{"content":"yes"},"logprobs":{"content":[{"token":"yes"}]},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Json choice = Json::parse(*answer)["choices"][0];
  EXPECT_EQ(choice["message"]["reasoning_content"], "think");
  EXPECT_EQ(choice["message"]["content"], "yes");
  EXPECT_EQ(choice["logprobs"]["content"].size(), 3u);
}

TEST(StreamAssembler, AnAnswerThatOnlyReasonsHasNoContent) {
  const auto answer = Assemble(
      Endpoint::kChat,
      {R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"service_tier":"flex"})",
       R"({"choices":[{"index":0,"delta":{"reasoning_content":"th"},"finish_reason":"length"}],"service_tier":null})"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Json whole = Json::parse(*answer);
  EXPECT_TRUE(whole["choices"][0]["message"]["content"].is_null());
  EXPECT_EQ(whole["service_tier"], "flex");
}

TEST(StreamAssembler, RunningTotalsOfUsageAreReplacedByTheLast) {
  const auto answer = Assemble(
      Endpoint::kChat,
      {R"({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}})",
       R"({"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})",
       R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Json::parse(*answer)["usage"]["completion_tokens"], 2);
}

TEST(StreamAssembler, WithoutAFinishThereIsNoAnswer) {
  EXPECT_EQ(Assemble(Endpoint::kChat, {R"({"choices":[{"index":0,"delta":{"content":"a"}}]})"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Assemble(Endpoint::kChat, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StreamAssembler, WhatItCannotRepresentIsSaid) {
  for (const char* delta : {R"({"content":5})", R"({"content":{"text":"x"}})", R"({"tool_calls":{}})", R"({"role":[]})",
                            R"({"cont\u0065nt":"x"})"}) {
    const std::string event = std::string(R"({"choices":[{"index":0,"delta":)") + delta + "}]}";
    EXPECT_EQ(Assemble(Endpoint::kChat, {event}).status().code(), absl::StatusCode::kUnimplemented) << delta;
  }
  EXPECT_EQ(Assemble(Endpoint::kChat, {R"({"choices":[{"index":0,"message":{"content":"x"}}]})"}).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Assemble(Endpoint::kChat, {"{"}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto error =
      Assemble(Endpoint::kChat, {R"({"error":{"code":500,"message":"Context size has been exceeded."}})"});
  EXPECT_EQ(error.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(error.status().message(), "Context size has been exceeded.");
}

std::string OfChoice(const std::string& members) { return R"({"choices":[{"index":0,)" + members + "}]}"; }
std::string OfDelta(const std::string& delta) { return OfChoice("\"delta\":" + delta); }
const std::string kEnd = OfChoice(R"("delta":{},"finish_reason":"stop")");

TEST(StreamAssembler, EventsWithoutChoicesArePassedOverAndTheirUsageCounts) {
  std::string many = R"({"object":"vendor")";
  for (int i = 0; i < 100; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  const std::string usage = R"({"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})";
  const auto answer =
      Assemble(Endpoint::kChat, {R"({"object":"ping","id":"p1","model":"x"})",
                                 R"({"id":"c1","choices":[{"index":0,"delta":{"content":"a"}}]})", R"({"error":null})",
                                 R"({"choices":null,"id":"c2"})", many + "}", R"({"usage":null})", kEnd, usage});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Json made = Json::parse(*answer);
  EXPECT_EQ(made["choices"][0]["message"]["content"], "a");
  EXPECT_EQ(made["id"], "c1");
  EXPECT_FALSE(made.contains("model")) << "a field of no answer";
  EXPECT_EQ(made["usage"]["completion_tokens"], 2);
  EXPECT_EQ(Assemble(Endpoint::kChat, {R"({"type":"message_start"})", usage}).status().message(),
            "the stream had no choice");
  EXPECT_EQ(Assemble(Endpoint::kChat, {R"({"object":"ping","a":})"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(StreamAssembler, AFunctionThatIsNoObjectIsLeftOut) {
  for (const char* first : {"\"abc\"", "[1,2]", "7", "null"}) {
    const auto answer =
        Assemble(Endpoint::kChat,
                 {OfDelta(std::string(R"({"tool_calls":[{"index":0,"id":"a","function":)") + first + "}]}"),
                  OfDelta(R"({"tool_calls":[{"index":0,"function":{"name":"f","strict":true}},7,null]})"), kEnd});
    ASSERT_TRUE(answer.ok()) << first << ": " << answer.status();
    EXPECT_EQ(Json::parse(*answer)["choices"][0]["message"]["tool_calls"],
              Json::parse(R"([{"id":"a","function":{"name":"f"}}])"));
  }
}

TEST(StreamAssembler, EscapesStayAsTheEngineWroteThem) {
  const auto answer = Assemble(
      Endpoint::kChat, {OfDelta(R"({"content":"a\n\"\ud83d"})"), OfDelta(R"({"content":"\ude00\u00e9\t"})"), kEnd});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Json::parse(*answer)["choices"][0]["message"]["content"], "a\n\"\xF0\x9F\x98\x80\xC3\xA9\t");
  for (const char* broken : {R"({"content":"\q"})", R"({"content":"\u12"})", "{\"content\":\"\n\"}"}) {
    EXPECT_EQ(Assemble(Endpoint::kChat, {OfDelta(broken)}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(StreamAssembler, TheIndexMayStandBehindTheRest) {
  const auto answer = Assemble(Endpoint::kCompletions,
                               {R"({"choices":[{"text":"b","index":1,"finish_reason":"stop"}]})",
                                R"({"choices":[{"text":"a","finish_reason":"length","logprobs":null,"index":0}]})"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Json::parse(*answer)["choices"],
            Json::parse(R"([{"index":0,"text":"a","finish_reason":"length","logprobs":null},
                            {"index":1,"text":"b","finish_reason":"stop"}])"));
}

TEST(StreamAssembler, ArraysOfLogprobsAreStrungTogetherAndOtherMembersKeepTheirFirstValue) {
  const auto logprobs = [](const char* members) {
    return OfChoice(std::string("\"text\":\"x\",\"logprobs\":") + members);
  };
  const auto answer = Assemble(Endpoint::kCompletions, {logprobs(R"({"tokens":[],"offset":null,"kind":1})"),
                                                        logprobs(R"({"tokens":[ "a" , "b" ],"offset":[4],"kind":2})"),
                                                        logprobs(R"({"tokens":["c"],"kind":[3]})"), logprobs("7"),
                                                        OfChoice(R"("text":"","finish_reason":"stop")")});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(Json::parse(*answer)["choices"][0]["logprobs"],
            Json::parse(R"({"tokens":["a","b","c"],"offset":[4],"kind":1})"));
}

TEST(StreamAssembler, ListsAreBounded) {
  std::string many = "{\"choices\":[]";
  for (int i = 0; i < 100; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  EXPECT_EQ(Assemble(Endpoint::kChat, {many + "}"}).status().code(), absl::StatusCode::kUnimplemented);
  for (const bool too_many : {false, true}) {
    std::string choices;
    const size_t count = StreamAssembler::kMostChoices + (too_many ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      choices += std::string(i > 0 ? "," : "") + R"({"index":)" + std::to_string(i) + R"(,"finish_reason":"stop"})";
    }
    EXPECT_EQ(Assemble(Endpoint::kChat, {"{\"choices\":[" + choices + "]}"}).ok(), !too_many);
  }
  std::string calls;
  for (int i = 0; i < 2'000; ++i) calls += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i) + "}";
  EXPECT_EQ(Assemble(Endpoint::kChat, {OfDelta("{\"tool_calls\":[" + calls + "]}")}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(StreamAssembler, LogprobsAreNullOnlyWhereTheEngineSaysSo) {
  for (const bool says : {true, false}) {
    StreamAssembler assembler(Endpoint::kChat);
    const std::string field = says ? R"(,"logprobs":null)" : "";
    ASSERT_TRUE(
        assembler.Add(R"({"choices":[{"index":0,"delta":{"content":"a"})" + field + R"(,"finish_reason":"stop"}]})")
            .ok());
    EXPECT_EQ(TextOf(assembler.Finish())->find("\"logprobs\":null") != std::string::npos, says);
  }
}

}  // namespace
}  // namespace penstock
