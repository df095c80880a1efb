#include "bench/load/stream_counter.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::bench {
namespace {

std::string Chunk(const std::string& delta, const std::string& finish = "null") {
  return R"(data: {"id":"x","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + finish + "}]}\n\n";
}

TEST(StreamCounter, OnlyEventsWithTextAreTokens) {
  StreamCounter counter;

  EXPECT_EQ(counter.Feed(Chunk(R"({"role":"assistant","content":""})")), 0);
  EXPECT_EQ(counter.Feed(Chunk(R"({"content":"Hi"})") + Chunk(R"({"content": " you"})")), 2);
  EXPECT_EQ(counter.Feed(": keep-alive\n\n"), 0);
  EXPECT_EQ(counter.Feed(Chunk("{}", R"("stop")")), 0);
  EXPECT_EQ(counter.finish_reason(), "stop");
  EXPECT_FALSE(counter.done());
  counter.Feed("data: [DONE]\n\n");
  EXPECT_TRUE(counter.done());
}

TEST(StreamCounter, ReasoningToolCallsAndCompletionTextCount) {
  StreamCounter counter;

  EXPECT_EQ(counter.Feed(Chunk(R"({"content":null,"reasoning_content":"hm"})")), 1);
  EXPECT_EQ(counter.Feed(Chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{"}}]})")), 1);
  EXPECT_EQ(counter.Feed("data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n"), 1);
}

TEST(StreamCounter, EventsMayBeCutAnywhere) {
  const std::string text = Chunk(R"({"content":"a"})") + Chunk(R"({"content":"b"})") + Chunk("{}", R"("length")");
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    StreamCounter counter;
    const int64_t texts = counter.Feed(text.substr(0, cut)) + counter.Feed(text.substr(cut));
    EXPECT_EQ(texts, 2) << "cut at " << cut;
    EXPECT_EQ(counter.finish_reason(), "length") << "cut at " << cut;
  }
}

TEST(StreamCounter, TextThatLooksLikeKeysIsText) {
  StreamCounter counter;

  EXPECT_EQ(counter.Feed(Chunk(R"({"content":"\"finish_reason\":\"stop\" \"error\":1"})")), 1);
  EXPECT_EQ(counter.finish_reason(), "");
  EXPECT_EQ(counter.error(), "");
}

TEST(StreamCounter, TokensThatShareAnEventAreCountedByTheUsage) {
  const auto usage = [](int tokens) {
    return ",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":" + std::to_string(tokens) + "}";
  };
  StreamCounter at_the_end;
  EXPECT_EQ(at_the_end.Feed(Chunk(R"({"content":"a b"})") + Chunk(R"({"content":"c"})")), 2);
  EXPECT_EQ(at_the_end.Feed("data: {\"choices\":[]" + usage(5) + "}\n\n"), 3);

  StreamCounter in_each_event;
  EXPECT_EQ(in_each_event.Feed("data: {\"choices\":[{\"text\":\"a b c\"}]" + usage(3) + "}\n\n"), 3);
  EXPECT_EQ(in_each_event.Feed("data: {\"choices\":[{\"text\":\"d\"}]" + usage(4) + "}\n\n"), 1);
  EXPECT_EQ(in_each_event.Feed("data: {\"choices\":[]" + usage(4) + "}\n\n"), 0);
}

TEST(StreamCounter, UsageAndErrorsAreRead) {
  StreamCounter counter;
  counter.Feed("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":123,\"completion_tokens\":4}}\n\n");
  EXPECT_EQ(counter.prompt_tokens(), 123);

  counter.Feed("data: {\"error\":{\"message\":\"Context size has been exceeded.\"}}\n\n");
  EXPECT_NE(counter.error(), "");
}

TEST(StreamCounter, CarriageReturnsAreNoPartOfALine) {
  StreamCounter counter;

  EXPECT_EQ(counter.Feed("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n"), 1);
  EXPECT_TRUE(counter.done());
}

}  // namespace
}  // namespace penstock::bench
