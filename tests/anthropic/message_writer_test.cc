// Answers of chats as messages of Anthropic's dialect.
#include "router/anthropic/message_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/anthropic/message_streams.h"

namespace penstock::anthropic {
namespace {

using nlohmann::json;

TEST(MessageWriter, AStreamOfTextIsOneBlock) {
  const auto events = EventsOf(kOpening + Chunk(R"({"content":"one \"a\""})") + Chunk(R"({"content":" two"})") +
                               kStopped + kUsageChunk + kEndMark);
  EXPECT_EQ(TypesOf(events),
            (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                      "content_block_delta", "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(events[0]["message"]["id"], "c1");
  EXPECT_EQ(events[0]["message"]["model"], "m");
  EXPECT_EQ(events[2]["delta"], json::parse(R"({"type":"text_delta","text":"one \"a\""})"));
  EXPECT_EQ(events[5]["delta"], json::parse(R"({"stop_reason":"end_turn","stop_sequence":null})"));
  EXPECT_EQ(events[5]["usage"], json::parse(R"({"input_tokens":5,"cache_read_input_tokens":4,
      "cache_creation_input_tokens":0,"output_tokens":3})"));
}

TEST(MessageWriter, ThinkingTextAndCallsAreBlocksOfTheirOwn) {
  const auto events =
      EventsOf(kOpening + Chunk(R"({"reasoning_content":"hm"})") + Chunk(R"({"content":"see"})") +
               Chunk(R"({"tool_calls":[{"index":0,"id":"t1","function":{"name":"look","arguments":""}}]})") +
               Chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]})") +
               Chunk(R"({"tool_calls":[{"index":1,"id":"t2","function":{"name":"wait","arguments":"{}"}}]})") +
               Chunk("{}", R"(,"finish_reason":"tool_calls")") + kUsageChunk + kEndMark);
  std::vector<json> blocks;
  for (const json& event : events) {
    if (event["type"] == "content_block_start") blocks.push_back(event["content_block"]);
  }
  EXPECT_EQ(json(blocks), json::parse(R"([{"type":"thinking","thinking":"","signature":""},{"type":"text","text":""},
      {"type":"tool_use","id":"t1","name":"look","input":{}},{"type":"tool_use","id":"t2","name":"wait","input":{}}])"));
  EXPECT_EQ(events[events.size() - 2]["delta"]["stop_reason"], "tool_use");
  EXPECT_EQ(events[events.size() - 3], json::parse(R"({"type":"content_block_stop","index":3})"));
}

TEST(MessageWriter, TheFirstEventWithAChoiceBeginsTheMessage) {
  const std::string named = "data: {\"id\":\"early\",\"model\":\"m1\",\"choices\":[],\"prompt_filter_results\":[]}\n\n";
  const std::string counted = "data: {\"id\":\"\",\"model\":\"\",\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\n\n";
  const std::string other = "data: {\"choices\":[{\"index\":5,\"delta\":{\"content\":\"z\"}},null]}\n\n";
  const std::string ping = "data: {\"type\":\"ping\"}\n\n";
  EXPECT_TRUE(EventsOf(ping + named + counted + other, /*finish=*/true).empty());
  const std::string bare = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
  const auto events = EventsOf(ping + named + counted + other + bare + kStopped + kEndMark);
  EXPECT_EQ(TypesOf(events), (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                                       "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(events[0]["message"]["id"], "early");
  EXPECT_EQ(events[0]["message"]["model"], "m1");
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], 9);
  const auto renamed = EventsOf(named + kOpening);
  EXPECT_EQ(renamed[0]["message"]["id"], "c1");
  EXPECT_EQ(renamed[0]["message"]["model"], "m");
}

TEST(MessageWriter, AStreamWithoutAChoiceIsNoMessage) {
  MessageWriter writer(0xa);
  EXPECT_EQ(writer.Take("data: {\"choices\":[]}\n\n" + kUsageChunk + kEndMark), kEndMark);
}

TEST(MessageWriter, TheStopStringOfTheEngineIsNamed) {
  const auto events = EventsOf(kOpening + Chunk("{}", R"(,"finish_reason":"stop","stop_reason":"END")") + kEndMark);
  EXPECT_EQ(events[1]["delta"], json::parse(R"({"stop_reason":"stop_sequence","stop_sequence":"END"})"));
  const auto by_token = EventsOf(kOpening + Chunk("{}", R"(,"finish_reason":"stop","stop_reason":128009)") + kEndMark);
  EXPECT_EQ(by_token[1]["delta"]["stop_reason"], "end_turn");
}

TEST(MessageWriter, AStreamWithoutUsageOrMarkEndsAtItsEnd) {
  EXPECT_EQ(TypesOf(EventsOf(kOpening + kStopped)), std::vector<std::string>{"message_start"});
  EXPECT_EQ(TypesOf(EventsOf(kOpening + kStopped, /*finish=*/true)),
            (std::vector<std::string>{"message_start", "message_delta", "message_stop"}));
  EXPECT_EQ(TypesOf(EventsOf(kOpening, /*finish=*/true)), std::vector<std::string>{"message_start"});
}

TEST(MessageWriter, AnEngineThatReportsNoUsageIsCountedByItsEvents) {
  const auto events =
      EventsOf(kOpening + Chunk(R"({"content":"one"})") + Chunk(R"({"content":" two"})") + kStopped + kEndMark);
  EXPECT_EQ(events[5]["usage"], json::parse(R"({"output_tokens":2})"));
}

TEST(MessageWriter, AnErrorOfTheEngineIsAnErrorEvent) {
  MessageWriter writer(0xa);
  EXPECT_EQ(writer.Take("data: {\"error\":{\"message\":\"full\",\"code\":503}}\n\n"),
            "event: error\ndata: {\"error\":{\"message\":\"full\",\"code\":503}}\n\n");
}

TEST(MessageWriter, CallsThatAreMixedUpAreNoMessage) {
  MessageWriter writer(0xa);
  writer.Take(kOpening + Chunk(R"({"tool_calls":[{"index":1,"id":"t","function":{"name":"look","arguments":"{"}}]})"));
  EXPECT_FALSE(writer.mixed_up());
  EXPECT_EQ(writer.Take(Chunk(R"({"tool_calls":[{"index":0,"id":"u","function":{"name":"wait","arguments":"{"}}]})")),
            "");
  EXPECT_TRUE(writer.mixed_up());
  EXPECT_EQ(writer.Take(kStopped), "");
}

// The ids of the calls and of the message, where the engine gives none, in a stream and in a whole answer.
std::vector<std::string> OwnIds(uint64_t unique, const std::string& id) {
  const std::string call = R"({"tool_calls":[{"index":0,)" + id + R"("function":{"name":"f","arguments":"{}"}}]})";
  const auto events = EventsOf(absl::StrCat("data: {\"choices\":[{\"index\":0,\"delta\":", call, "}]}\n\n") +
                                   Chunk("{}", R"(,"finish_reason":"tool_calls")") + kEndMark,
                               /*finish=*/false, unique);
  const auto whole = MessageWriter(unique).Whole(
      absl::StrCat(R"({"choices":[{"message":)", call, R"(,"finish_reason":"tool_calls"}]})"));
  return {events[0]["message"]["id"], events[1]["content_block"]["id"], json::parse(*whole)["content"][0]["id"]};
}

TEST(MessageWriter, IdsThatTheEngineLeavesOutAreOtherOnesInEachAnswer) {
  for (const std::string absent : {"", "\"id\":null,", "\"id\":\"\","}) {
    const auto one = OwnIds(1, absent), another = OwnIds(2, absent);
    EXPECT_EQ(one[0], "msg_0000000000000001_0");
    EXPECT_EQ(one[1], "toolu_0000000000000001_0");
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NE(one[i], another[i]);
  }
  EXPECT_EQ(OwnIds(1, "\"id\":\"t9\",")[1], "t9");
}

TEST(MessageWriter, TheFirstOfSeveralChoicesIsTheMessage) {
  const auto events =
      EventsOf(kOpening +
               R"(data: {"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]})"
               "\n\n" +
               R"(data: {"choices":[{"index":1,"delta":{},"finish_reason":"length"}]})"
               "\n\n" +
               kStopped + kEndMark);
  EXPECT_EQ(events[2]["delta"]["text"], "a");
  EXPECT_EQ(events[4]["delta"]["stop_reason"], "end_turn");
  const auto whole = MessageWriter(0xa).Whole(R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"},
      {"message":{"content":"b"},"finish_reason":"length"}]})");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(json::parse(*whole)["content"].size(), 1u);
  EXPECT_EQ(json::parse(*whole)["content"][0]["text"], "a");
  EXPECT_EQ(json::parse(*whole)["stop_reason"], "end_turn");
}

TEST(MessageWriter, CallsThatHaveOneIndexAreToldApartByTheirIds) {
  const auto events = EventsOf(
      kOpening + Chunk(R"({"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]})") +
      Chunk(R"({"tool_calls":[{"index":0,"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]})") +
      Chunk("{}", R"(,"finish_reason":"tool_calls")") + kEndMark);
  std::vector<std::string> begun;
  for (const json& event : events) {
    if (event["type"] == "content_block_start") begun.push_back(event["content_block"]["name"]);
  }
  EXPECT_EQ(begun, (std::vector<std::string>{"f", "g"}));
}

TEST(MessageWriter, AStreamThatEndsWithoutItsReasonIsAWholeMessage) {
  const auto events = EventsOf(kOpening + Chunk(R"({"content":"he"})") + kEndMark);
  EXPECT_EQ(TypesOf(events), (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                                       "content_block_stop", "message_delta", "message_stop"}));
}

TEST(MessageWriter, ArgumentsThatAreAnObjectAreItsText) {
  const std::string call = R"({"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":{"a":"\"1\""}}}]})";
  const auto events = EventsOf(kOpening + Chunk(call) + Chunk("{}", R"(,"finish_reason":"tool_calls")") + kEndMark);
  EXPECT_EQ(json::parse(events[2]["delta"]["partial_json"].get<std::string>()), json::parse(R"({"a":"\"1\""})"));
  const auto whole =
      MessageWriter(0xa).Whole(absl::StrCat(R"({"choices":[{"message":)", call, R"(,"finish_reason":"stop"}]})"));
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(json::parse(*whole)["content"][0]["input"], json::parse(R"({"a":"\"1\""})"));
}

TEST(MessageWriter, AListOfTextsIsText) {
  const std::string delta = R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})";
  const auto events = EventsOf(Chunk(delta) + kStopped + kUsageChunk);
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events[2]["delta"]["text"], "a");
  EXPECT_EQ(events[3]["delta"]["text"], "b");
  const auto whole = MessageWriter(0xa).Whole(R"({"choices":[{"message":)" + delta + R"(,"finish_reason":"stop"}]})");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(json::parse(*whole)["content"], json::parse(R"([{"type":"text","text":"ab"}])"));
}

TEST(MessageWriter, ContentThatIsNoTextIsUnreadableAndNotQuoted) {
  for (const char* content : {R"([{"type":"image","data":"SECRET"}])", R"({"text":"SECRET"})", R"([["SECRET"]])"}) {
    MessageWriter writer(0xa);
    EXPECT_EQ(writer.Take(Chunk(absl::StrCat(R"({"content":)", content, "}"))), "") << content;
    EXPECT_TRUE(writer.unreadable()) << content;
    EXPECT_EQ(writer.Take(Chunk(R"({"content":"a"})")), "") << content;
    EXPECT_EQ(MessageWriter(0xa).Whole(
                  absl::StrCat(R"({"choices":[{"message":{"content":)", content, R"(},"finish_reason":"stop"}]})")),
              std::nullopt);
  }
}

TEST(MessageWriter, ACallMayHaveAnyIndex) {
  for (const char* index : {"-1", "1000000000"}) {
    const auto events = EventsOf(Chunk(absl::StrCat(R"({"tool_calls":[{"index":)", index,
                                                    R"(,"id":"c","function":{"name":"f","arguments":"{}"}}]})")) +
                                 kStopped + kUsageChunk);
    ASSERT_GE(events.size(), 3u);
    EXPECT_EQ(events[1]["content_block"]["type"], "tool_use");
    EXPECT_EQ(events[events.size() - 2]["delta"]["stop_reason"], "tool_use") << index;
  }
}

TEST(MessageWriter, AWholeChatIsAMessage) {
  const auto message = MessageWriter(0xa).Whole(R"({"id":"c1","model":"m","choices":[{"message":{"role":"assistant",
      "content":"see","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"look",
      "arguments":"{\"a\":\"b\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}})");
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(json::parse(*message), json::parse(R"({"id":"c1","type":"message","role":"assistant","model":"m","content":[
      {"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"see"},
      {"type":"tool_use","id":"t1","name":"look","input":{"a":"b"}}],"stop_reason":"tool_use","stop_sequence":null,
      "usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}})"));
}

json WholeOf(const std::string& message, const std::string& finish) {
  const auto whole = MessageWriter(0xa).Whole(
      absl::StrCat(R"({"choices":[{"message":)", message, R"(,"finish_reason":")", finish, "\"}]}"));
  EXPECT_TRUE(whole.has_value()) << message;
  return whole ? json::parse(*whole) : json();
}

TEST(MessageWriter, ACallThatTheOutputLimitCutHasTheMembersThatAreWhole) {
  const std::string first = R"({"id":"t1","function":{"name":"f","arguments":"{\"a\":1}"}})";
  const auto with = [&](const std::string& last) { return R"({"tool_calls":[)" + first + "," + last + "]}"; };
  json cut = WholeOf(with(R"({"id":"t2","function":{"name":"g","arguments":"{\"b\": 2, \"city\": \"Par"}})"), "length");
  EXPECT_EQ(cut["stop_reason"], "max_tokens");
  EXPECT_EQ(cut["content"][0]["input"], json::parse(R"({"a":1})"));
  EXPECT_EQ(cut["content"][1]["input"], json::parse(R"({"b":2})"));
  cut = WholeOf(with(R"({"id":"t2","function":{"name":"g","arguments":"{\"ci"}})"), "length");
  EXPECT_EQ(cut["content"][1]["input"], json::object());
  cut = WholeOf(with(R"({"id":"t2","function":{"name":null,"arguments":""}})"), "length");
  EXPECT_EQ(cut["content"].size(), 1u);
}

TEST(MessageWriter, ARefusalIsTextAndTheReasonOfTheEnd) {
  const json whole = WholeOf(R"({"content":null,"refusal":"I \"can't\"."})", "stop");
  EXPECT_EQ(whole["content"], json::parse(R"([{"type":"text","text":"I \"can't\"."}])"));
  EXPECT_EQ(whole["stop_reason"], "refusal");
  EXPECT_EQ(WholeOf(R"({"refusal":"no"})", "length")["stop_reason"], "max_tokens");
  EXPECT_EQ(WholeOf(R"({"content":"yes","refusal":null})", "stop")["stop_reason"], "end_turn");
  const auto events = EventsOf(kOpening + Chunk(R"({"content":"Well. "})") + Chunk(R"({"refusal":"I "})") +
                               Chunk(R"({"refusal":"can't."})") + kStopped + kUsageChunk + kEndMark);
  EXPECT_EQ(TypesOf(events), (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta",
                                                       "content_block_delta", "content_block_delta",
                                                       "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(events[3]["delta"], json::parse(R"({"type":"text_delta","text":"I "})"));
  EXPECT_EQ(events[6]["delta"]["stop_reason"], "refusal");
}

std::string CallOf(const char* name, const char* arguments) {
  return absl::StrCat(R"({"choices":[{"message":{"tool_calls":[{"function":{"name":")", name, R"(","arguments":")",
                      arguments, R"("}}]},"finish_reason":"stop"}]})");
}

TEST(MessageWriter, AWholeAnswerWithoutAnEndOrANameIsNoMessage) {
  EXPECT_FALSE(MessageWriter(0xa).Whole("[1]").has_value());
  EXPECT_FALSE(MessageWriter(0xa).Whole(R"({"choices":[{"message":{"content":"a"}}]})").has_value());
  EXPECT_FALSE(MessageWriter(0xa).Whole(CallOf("", "{}")).has_value());
}

TEST(MessageWriter, ArgumentsThatAreNoObjectAreATextInOne) {
  for (const char* arguments : {"{", "[1]", "no JSON", R"(a \"quote\")"}) {
    const auto whole = MessageWriter(0xa).Whole(CallOf("n", arguments));
    ASSERT_TRUE(whole.has_value()) << arguments;
    EXPECT_EQ(json::parse(*whole)["content"][0]["input"],
              json::parse(absl::StrCat(R"({"arguments":")", arguments, "\"}")));
  }
  // Half of a surrogate pair stays as it is.
  EXPECT_TRUE(absl::StrContains(MessageWriter(0xa).Whole(CallOf("n", R"(\ud800)")).value_or(""),
                                R"("input":{"arguments":"\ud800"})"));
}

}  // namespace
}  // namespace penstock::anthropic
