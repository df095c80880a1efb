// Lists without an end and impossible counts in the chats of engines.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/dialect/assembly/answer_bounds.h"
#include "router/anthropic/chat_piece.h"
#include "router/anthropic/message_writer.h"
#include "tests/anthropic/message_streams.h"

namespace penstock::anthropic {
namespace {

std::string Listed(const std::string& opening, const std::string& item, size_t count) {
  std::string list = opening + "[" + item;
  for (size_t i = 1; i < count; ++i) absl::StrAppend(&list, ",", item);
  return list + "]}";
}

TEST(MessageBounds, AListThatIsTooLongIsNoMessage) {
  const std::string call = R"({"id":"t","function":{"name":"f","arguments":"{}"}})";
  for (const auto& [opening, item] : {std::pair<std::string, std::string>{R"({"tool_calls":)", call},
                                      {R"({"content":)", R"({"type":"text","text":"a"})"},
                                      {R"({"content":)", R"({"type":"text","text":""})"}}) {
    for (const size_t more : {0, 1}) {
      const std::string delta = Listed(opening, item, kMostListed + more);
      MessageWriter writer(0xa);
      EXPECT_EQ(writer.Take(kOpening + Chunk(delta)).size() > 10'000, more == 0 && !absl::StrContains(item, "\"\""))
          << item;
      EXPECT_EQ(writer.unreadable(), more > 0) << item;
      EXPECT_EQ(MessageWriter(0xa)
                    .Whole(absl::StrCat(R"({"choices":[{"message":)", delta, R"(,"finish_reason":"stop"}]})"))
                    .has_value(),
                more == 0)
          << item;
    }
  }
  MessageWriter writer(0xa);
  writer.Take("data: " + Listed(R"({"choices":)", "{}", kMostListed + 1) + "\n\n");
  EXPECT_TRUE(writer.unreadable());
}

TEST(MessageBounds, AContentThatComesTwiceDoesNotGather) {
  std::string delta = "{";
  for (int i = 0; i < 5; ++i) absl::StrAppend(&delta, i > 0 ? "," : "", R"("content":["a","b"])");
  const std::string chunk = absl::StrCat(R"({"choices":[{"delta":)", delta, "}}]}");
  ChatPiece piece;
  EXPECT_TRUE(ReadChatPiece(chunk, &piece));
  EXPECT_EQ(piece.text, "a");
  EXPECT_EQ(piece.more_text.size(), 1u);
}

TEST(MessageBounds, AStreamOfTooManyCallsIsUnreadable) {
  MessageWriter writer(0xa);
  for (size_t i = 0; i <= kMostListed; ++i) {
    EXPECT_FALSE(writer.unreadable()) << i;
    writer.Take(Chunk(absl::StrCat(R"({"tool_calls":[{"index":)", i, R"(,"id":"t)", i,
                                   R"(","function":{"name":"f","arguments":"{}"}}]})")));
  }
  EXPECT_TRUE(writer.unreadable());
  EXPECT_FALSE(writer.mixed_up());
  EXPECT_EQ(writer.Take(kStopped), "");
}

TEST(MessageBounds, ImpossibleCountsOfAnEngineAreLeftOut) {
  const std::string usage = R"({"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807})";
  const std::string chunk = "data: {\"choices\":[],\"usage\":" + usage + "}\n\n";
  const auto events = EventsOf(chunk + kOpening + kStopped + chunk);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], 0);
  EXPECT_EQ(events[1]["usage"]["input_tokens"], 0);
  EXPECT_EQ(events[1]["usage"]["output_tokens"], 0);
  MessageWriter writer(0xa);
  writer.Take(kOpening + kUsageChunk);
  EXPECT_FALSE(writer.impossible_usage());
  writer.Take(chunk);
  EXPECT_TRUE(writer.impossible_usage());
  const auto whole = MessageWriter(0xa).Whole(
      R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":)" + usage + "}");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(nlohmann::json::parse(*whole)["usage"]["input_tokens"], 0);
  EXPECT_EQ(nlohmann::json::parse(*whole)["usage"]["output_tokens"], 0);
}

}  // namespace
}  // namespace penstock::anthropic
