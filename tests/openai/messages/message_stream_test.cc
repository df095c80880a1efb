// Streams in Anthropic's dialect on their way to the client.
#include <gtest/gtest.h>

#include <string>

#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

std::string MessageEvent(const std::string& type, const std::string& more) {
  return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" + more + "}\n\n";
}

const std::string kMessageStart =
    MessageEvent("message_start", R"(,"message":{"id":"m1","usage":{"input_tokens":7,"output_tokens":1}})");
const std::string kMessageBlock =
    MessageEvent("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})");
const std::string kMessageText =
    MessageEvent("content_block_delta", R"(,"index":0,"delta":{"type":"text_delta","text":"word"})");
const std::string kMessageEnd =
    MessageEvent("message_delta", R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1})");
const std::string kMessagePing = MessageEvent("ping", "");

TEST(MessageStream, TheOpeningWaitsForTheFirstText) {
  Fixture f;
  StreamRelay relay(Endpoint::kMessages, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kMessageStart + kMessageBlock + kMessagePing, kNow), StreamRelay::Result::kGoOn);
  EXPECT_TRUE(relay.pieces().empty()) << "another engine can still answer";
  EXPECT_FALSE(relay.any_event());
  relay.Feed(kMessageText, kNow);
  EXPECT_EQ(Joined(relay), kMessageStart + kMessageBlock + kMessagePing + kMessageText);
  relay.Feed(kMessageEnd, kNow);
  EXPECT_EQ(Joined(relay), kMessageEnd);
  EXPECT_EQ(f.state.usage->prompt, Tokens(7)) << "the opening told it";
}

TEST(MessageStream, AnAnswerWithoutTextKeepsItsOpening) {
  Fixture f;
  StreamRelay relay(Endpoint::kMessages, f.facts, f.state);
  relay.Feed(kMessageStart + kMessageEnd, kNow);
  EXPECT_EQ(Joined(relay), kMessageStart + kMessageEnd);
  EXPECT_TRUE(relay.finished());
}

TEST(MessageStream, ALongOpeningIsNotHeld) {
  Fixture f;
  StreamRelay relay(Endpoint::kMessages, f.facts, f.state);
  const std::string start = MessageEvent("message_start", ",\"message\":{\"id\":\"" + std::string(8192, 'i') + "\"}");
  relay.Feed(start, kNow);
  EXPECT_EQ(Joined(relay), start);
}

TEST(MessageStream, AStreamOfAnotherApiIsNoAnswer) {
  Fixture f;
  StreamRelay relay(Endpoint::kMessages, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kWord, kNow), StreamRelay::Result::kMalformed);
  EXPECT_TRUE(relay.pieces().empty());
}

TEST(StreamRelay, ThePromptOfAContinuedAnswerIsWithoutTheTextAsItsEngineCountedIt) {
  Fixture f;
  f.facts.asks_usage = true;
  StreamRelay first(Endpoint::kChat, f.facts, f.state);
  for (int i = 0; i < 10; ++i) {
    first.Feed(kWord, kNow);
    f.state.delivered += first.counts().in_pieces();
  }
  f.state.Restart(/*keep_delivered=*/true, /*trimmed=*/false);
  f.state.CountText(Tokens(8));  // Read again, the text has two tokens fewer.
  StreamRelay second(Endpoint::kChat, f.facts, f.state);
  second.Feed(kWord + kStop, kNow);
  second.Feed(
      "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":15,\"completion_tokens\":2,"
      "\"total_tokens\":17}}\n\n",
      kNow);
  EXPECT_EQ(f.state.usage->prompt, Tokens(7));
  EXPECT_EQ(f.state.usage->output, Tokens(12));
}

}  // namespace
}  // namespace penstock
