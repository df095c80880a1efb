#include "router/ollama/answer_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "backends/dialect/assembly/answer_bounds.h"

namespace penstock::ollama {
namespace {

using Json = nlohmann::json;
constexpr absl::string_view kWhen = "2026-01-01T00:00:00Z";

Instant At(int64_t milliseconds) { return Instant() + Duration::Milliseconds(milliseconds); }

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line.begin(), line.end()));
  }
  return lines;
}

TEST(OllamaAnswer, EachTextIsALineAndTheLastOneCounts) {
  AnswerWriter writer(Call::kChat, "a \"model\"", At(0));
  std::string out;
  writer.Event(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})", kWhen, At(5), out);
  EXPECT_EQ(out, "");
  writer.Event(R"({"choices":[{"index":0,"delta":{"content":"\u00e9\n"}}]})", kWhen, At(10), out);
  writer.Event(R"({"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":"length"}]})", kWhen,
               At(20), out);
  writer.Event(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}})", kWhen, At(30), out);
  writer.Event("[DONE]", kWhen, At(30), out);
  writer.End(kWhen, At(40), out);
  const std::vector<Json> lines = Lines(out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["model"], "a \"model\"");
  EXPECT_EQ(lines[0]["message"]["content"], "\u00e9\n");
  EXPECT_EQ(lines[1]["message"]["thinking"], "hm");
  EXPECT_EQ(lines[1]["done"], false);
  EXPECT_EQ(lines[2]["done"], true);
  EXPECT_EQ(lines[2]["done_reason"], "length");
  EXPECT_EQ(lines[2]["prompt_eval_count"], 7);
  EXPECT_EQ(lines[2]["eval_count"], 2);
  EXPECT_EQ(lines[2]["total_duration"], 40'000'000);
  EXPECT_EQ(lines[2]["prompt_eval_duration"], 10'000'000);
}

TEST(OllamaAnswer, CallsMayHaveAnyIndex) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  for (const char* index : {"1000000000", "-1"}) {
    writer.Event(std::string(R"({"choices":[{"delta":{"tool_calls":[{"index":)") + index +
                     R"(,"function":{"name":"f","arguments":"{}"}}]}}]})",
                 kWhen, At(5), out);
  }
  writer.End(kWhen, At(5), out);
  EXPECT_FALSE(writer.unfit());
  EXPECT_EQ(Lines(out)[0]["message"]["tool_calls"].size(), 2u);
}

TEST(OllamaAnswer, AListOfTextsIsContent) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  writer.Event(R"({"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]})", kWhen,
               At(5), out);
  EXPECT_EQ(Lines(out)[0]["message"]["content"], "ab");
}

TEST(OllamaAnswer, ChoicesBehindTheFirstArePassedOver) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  const std::string other = R"({"delta":{"content":"z","tool_calls":[{"function":{"name":"f"}}]},"index":)";
  for (const char* index : {"5", "-1", "4611686018427387904"}) {
    writer.Event(R"({"choices":[)" + other + index + R"(,"finish_reason":"length"}]})", kWhen, At(5), out);
  }
  EXPECT_EQ(out, "");
  writer.Event(R"({"choices":[)" + other + R"(1},{"index":0,"delta":{"content":"a"}},{"delta":{"content":"b"}}]})",
               kWhen, At(5), out);
  writer.End(kWhen, At(5), out);
  const std::vector<Json> lines = Lines(out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["message"]["content"], "a");
  EXPECT_EQ(lines[1]["done_reason"], "stop");
}

TEST(OllamaAnswer, WhatTheDialectCannotSayMakesItUnfit) {
  std::string calls;
  for (size_t i = 0; i <= kMostListed; ++i) calls += (i > 0 ? ",{\"index\":" : "{\"index\":") + std::to_string(i) + "}";
  std::string same = R"({"index":0})", parts = "\"\"";
  for (size_t i = 0; i < kMostListed; ++i) {
    same += R"(,{"index":0})";
    parts += ",\"\"";
  }
  for (const std::string& delta : {std::string(R"({"content":[{"type":"image"}]})"), std::string(R"({"content":5})"),
                                   std::string(R"({"reasoning":{"a":1}})"), "{\"tool_calls\":[" + calls + "]}",
                                   "{\"tool_calls\":[" + same + "]}", "{\"content\":[" + parts + "]}"}) {
    AnswerWriter writer(Call::kChat, "m", At(0));
    std::string out;
    writer.Event(R"({"choices":[{"delta":)" + delta + "}]}", kWhen, At(5), out);
    EXPECT_TRUE(writer.unfit()) << delta;
    EXPECT_EQ(out, "") << delta;
    AnswerWriter whole(Call::kChat, "m", At(0));
    whole.Whole(R"({"choices":[{"message":)" + delta + "}]}", kWhen, At(5));
    EXPECT_TRUE(whole.unfit()) << delta;
  }
  for (const char* nothing : {"null", "", " [DONE] "}) {
    AnswerWriter writer(Call::kChat, "m", At(0));
    std::string out;
    writer.Event(nothing, kWhen, At(5), out);
    EXPECT_FALSE(writer.unfit()) << nothing;
  }
}

TEST(OllamaAnswer, CallsOfToolsThatAreTooLongAreDropped) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  const std::string piece(64 << 10, 'x');
  std::string out;
  for (size_t sent = 0; sent <= AnswerWriter::kMostToolText; sent += piece.size()) {
    EXPECT_LE(writer.gathered(), AnswerWriter::kMostToolText);
    EXPECT_EQ(writer.too_long(), sent > 0 && writer.gathered() == 0);
    writer.Event(
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":")" + piece + "\"}}]}}]}",
        kWhen, At(1), out);
  }
  EXPECT_TRUE(writer.too_long());
  EXPECT_EQ(writer.gathered(), 0u);
  writer.Event(R"({"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"g","arguments":"{}"}}]}}]})",
               kWhen, At(2), out);
  writer.End(kWhen, At(3), out);
  EXPECT_EQ(Lines(out).size(), 1u);
}

TEST(OllamaAnswer, ImpossibleCountsOfAnEngineAreNotPassedOn) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  writer.Event(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}})", kWhen, At(1), out);
  writer.Event(
      R"({"choices":[],"usage":{"prompt_tokens":-9223372036854775808,"completion_tokens":9223372036854775807}})", kWhen,
      At(2), out);
  writer.End(kWhen, At(3), out);
  const std::vector<Json> lines = Lines(out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["prompt_eval_count"], 7);
  EXPECT_EQ(lines[0]["eval_count"], 2);
}

TEST(OllamaAnswer, AnEngineThatReportsNoUsageIsCountedByItsEvents) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  for (const char* text : {"one", "two", "three"}) {
    writer.Event(std::string(R"({"choices":[{"index":0,"delta":{"content":")") + text + R"("}}]})", kWhen, At(1), out);
  }
  writer.Event(R"({"choices":[],"usage":null})", kWhen, At(2), out);
  writer.End(kWhen, At(3), out);
  EXPECT_EQ(Lines(out).back()["eval_count"], 3);
}

TEST(OllamaAnswer, AWholeAnswerIsOneObject) {
  AnswerWriter writer(Call::kGenerate, "m", At(0));
  const Json answer = Json::parse(writer.Whole(
      R"({"choices":[{"message":{"content":"text"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}})",
      kWhen, At(9)));
  EXPECT_EQ(answer["response"], "text");
  EXPECT_EQ(answer["done_reason"], "stop");
}

TEST(OllamaAnswer, CallsOfToolsHaveObjectsForArguments) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  const Json answer = Json::parse(writer.Whole(
      R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}},)"
      R"({"id":"2","function":{"name":"g","arguments":"broken"}}]},"finish_reason":"tool_calls"}]})",
      kWhen, At(9)));
  EXPECT_EQ(answer["message"]["tool_calls"][0]["function"]["arguments"]["a"], 1);
  EXPECT_EQ(answer["message"]["tool_calls"][1]["function"]["arguments"]["arguments"], "broken");
}

TEST(OllamaAnswer, ThinkingUnderTwoNamesIsToldOnce) {
  AnswerWriter lines(Call::kChat, "m", At(0)), whole(Call::kChat, "m", At(0));
  const std::string both = R"({"reasoning_content":"hm","reasoning":"hm"}}]})";
  std::string out;
  lines.Event(R"({"choices":[{"delta":)" + both, kWhen, At(1), out);
  EXPECT_EQ(Lines(out)[0]["message"]["thinking"], "hm");
  EXPECT_EQ(Json::parse(whole.Whole(R"({"choices":[{"message":)" + both, kWhen, At(9)))["message"]["thinking"], "hm");
}

TEST(OllamaAnswer, CallsOfOneIndexAreToldApartByTheirIds) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  const auto piece = [&](const std::string& call) {
    writer.Event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,)" + call + "}]}}]}", kWhen, At(1), out);
  };
  piece(R"("id":"a","function":{"name":"f","arguments":"{\"x\""})");
  piece(R"("id":"a","function":{"arguments":":1}"})");
  piece(R"("id":"b","function":{"name":"g","arguments":"{\"y\""})");
  piece(R"("function":{"arguments":":2}"})");
  writer.End(kWhen, At(2), out);
  const Json calls = Lines(out)[0]["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["function"]["arguments"]["x"], 1);
  EXPECT_EQ(calls[1]["function"]["name"], "g");
  EXPECT_EQ(calls[1]["function"]["arguments"]["y"], 2);
}

TEST(OllamaAnswer, ArgumentsThatAreAnObjectAlreadyStayThatObject) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  const Json answer = Json::parse(writer.Whole(
      R"({"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":{"b":[1]}}}}]}}]})", kWhen,
      At(9)));
  EXPECT_EQ(answer["message"]["tool_calls"][0]["function"]["arguments"], Json::parse(R"({"a":{"b":[1]}})"));
}

// Both forms of one answer: the lines of a stream, and the object.
Json CallsOf(const std::string& calls, const std::string& finish) {
  AnswerWriter lines(Call::kChat, "m", At(0)), whole(Call::kChat, "m", At(0));
  const std::string end = R"({"tool_calls":)" + calls + R"(},"finish_reason":")" + finish + "\"}]}";
  std::string out;
  lines.Event(R"({"choices":[{"delta":)" + end, kWhen, At(1), out);
  lines.End(kWhen, At(2), out);
  const Json answer = Json::parse(whole.Whole(R"({"choices":[{"message":)" + end, kWhen, At(2)));
  EXPECT_EQ(Lines(out)[0]["message"], answer["message"]);
  EXPECT_EQ(answer["done_reason"], finish == "length" ? "length" : "stop");
  return answer["message"]["tool_calls"];
}

TEST(OllamaAnswer, ACallThatTheOutputLimitCutHasTheMembersThatAreWhole) {
  const std::string cut = R"([{"index":0,"function":{"name":"f","arguments":"{\"city\": \"Rome\", \"day\": \"Mon"}}])";
  EXPECT_EQ(CallsOf(cut, "length")[0]["function"]["arguments"], Json::parse(R"({"city":"Rome"})"));
  EXPECT_TRUE(CallsOf(cut, "stop")[0]["function"]["arguments"]["arguments"].is_string());
  EXPECT_EQ(
      CallsOf(R"([{"index":0,"function":{"name":"f","arguments":"{\"ci"}}])", "length")[0]["function"]["arguments"],
      Json::object());
}

TEST(OllamaAnswer, ARefusalIsText) {
  AnswerWriter lines(Call::kChat, "m", At(0)), whole(Call::kChat, "m", At(0));
  std::string out;
  lines.Event(R"({"choices":[{"delta":{"refusal":"I \"can't\"."}}]})", kWhen, At(1), out);
  ASSERT_EQ(Lines(out).size(), 1u);
  EXPECT_EQ(Lines(out)[0]["message"]["content"], "I \"can't\".");
  const Json answer = Json::parse(
      whole.Whole(R"({"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]})", kWhen, At(2)));
  EXPECT_EQ(answer["message"]["content"], "no");
}

TEST(OllamaAnswer, NonsenseMakesNoLine) {
  AnswerWriter writer(Call::kChat, "m", At(0));
  std::string out;
  for (const char* text :
       {"", "x", "[]", "{", R"({"choices":7})", R"({"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"index":99999999,"function":{"name":"x"}}]}}]})"}) {
    writer.Event(text, kWhen, At(1), out);
  }
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace penstock::ollama
