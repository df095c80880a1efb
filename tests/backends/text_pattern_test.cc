#include <gtest/gtest.h>

#include <random>
#include <string>

#include "backends/dialect/text_pattern.h"

namespace penstock {
namespace {

std::string Chat(const std::string& text, const std::string& finish = "null") {
  return R"({"id":"c-1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":")" + text +
         R"("},"logprobs":null,"finish_reason":)" + finish + "}]}";
}

SseSplitter::Event EventOf(const std::string& data) {
  SseSplitter::Event event;
  event.raw = event.data = data;
  return event;
}

TextPattern Learned(const std::string& data, Endpoint endpoint = Endpoint::kChat) {
  TextPattern pattern(endpoint);
  pattern.Learn(EventOf(data), ReadStreamEvent(endpoint, EventOf(data)));
  return pattern;
}

bool Matches(const TextPattern& pattern, const std::string& data) { return pattern.Match(EventOf(data)).has_value(); }

TEST(TextPattern, AnEventThatDiffersOnlyInItsTextMatches) {
  const TextPattern pattern = Learned(Chat(" one"));
  EXPECT_TRUE(Matches(pattern, Chat(" another")));
  EXPECT_TRUE(Matches(pattern, Chat("\xE4\xBD\xA0")));
  EXPECT_TRUE(Matches(pattern, Chat("x")));
}

TEST(TextPattern, WhatSaysMoreDoesNotMatch) {
  const TextPattern pattern = Learned(Chat(" one"));
  EXPECT_FALSE(Matches(pattern, Chat("")));
  EXPECT_FALSE(Matches(pattern, Chat("end", R"("stop")")));
  EXPECT_FALSE(Matches(pattern, Chat(R"(a","name":"b)")));
  EXPECT_FALSE(Matches(pattern, Chat(R"(\n)")));
  EXPECT_FALSE(Matches(pattern, Chat("\n")));
  EXPECT_FALSE(Matches(pattern, Chat("\xFF")));
  EXPECT_FALSE(Matches(pattern, "[DONE]"));
  EXPECT_FALSE(Matches(pattern, Chat(" one").substr(1)));
  const std::string data = Chat(" two");
  SseSplitter::Event named = EventOf(data);
  named.name = "error";
  EXPECT_FALSE(pattern.Match(named).has_value());
}

TEST(TextPattern, NothingIsLearnedFromWhatIsNotOneText) {
  EXPECT_FALSE(Matches(TextPattern(Endpoint::kChat), Chat("a")));
  EXPECT_FALSE(Matches(Learned(Chat("a", R"("length")")), Chat("b", R"("length")")));
  EXPECT_FALSE(Matches(Learned("[DONE]"), "[DONE]"));
  const std::string two = R"({"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]})";
  EXPECT_FALSE(Matches(Learned(two), two));
  const std::string usage = R"({"choices":[{"text":"a"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})";
  EXPECT_FALSE(Matches(Learned(usage, Endpoint::kCompletions), usage));
  const std::string response = R"({"type":"response.output_text.delta","delta":"a"})";
  EXPECT_FALSE(Matches(Learned(response, Endpoint::kResponses), response));
}

TEST(TextPattern, ReasoningStaysOtherText) {
  const std::string first = R"({"choices":[{"delta":{"role":"assistant","reasoning":"a"}}]})";
  const std::string second = R"({"choices":[{"delta":{"role":"assistant","reasoning":"bc"}}]})";
  const std::optional<StreamFacts> reported = Learned(first).Match(EventOf(second));
  ASSERT_TRUE(reported.has_value());
  EXPECT_TRUE(reported->has_text && reported->other_text && reported->has_role);
  EXPECT_TRUE(reported->content.empty());
}

// Whatever byte of an event is changed: what matches is what the parse calls text and nothing else.
TEST(TextPattern, AMatchSaysWhatAParseSays) {
  const TextPattern pattern = Learned(Chat(" one"));
  std::mt19937 random(17);
  int matched = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string data = Chat("word");
    data[random() % data.size()] = static_cast<char>(random());
    if (random() % 4 == 0) data.insert(random() % data.size(), 1, static_cast<char>(random() % 0x80));
    const std::optional<StreamFacts> reported = pattern.Match(EventOf(data));
    if (!reported) continue;
    ++matched;
    const StreamFacts facts = ReadStreamEvent(Endpoint::kChat, EventOf(data));
    ASSERT_TRUE(facts.has_text && !facts.malformed && !facts.finish && !facts.done && !facts.usage && !facts.error)
        << "seed 17, trial " << trial << ": " << data;
    ASSERT_EQ(reported->content, facts.content) << data;
    ASSERT_EQ(reported->other_text, facts.other_text) << data;
    ASSERT_EQ(reported->has_role, facts.has_role) << data;
  }
  EXPECT_GT(matched, 100);
}

}  // namespace
}  // namespace penstock
