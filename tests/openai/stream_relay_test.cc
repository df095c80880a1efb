// The pure parts of relaying: what passes, what is hidden, what is learned, how a cut answer goes on.
#include "router/openai/answer/stream_relay.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "router/openai/answer/chunk_rewrite.h"
#include "router/openai/answer/delivered_text.h"
#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

TEST(StreamRelay, EventsPassAsTheyCameAndAreCounted) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kRole + kWord + kWord, kNow), StreamRelay::Result::kGoOn);
  EXPECT_EQ(Joined(relay), kRole + kWord + kWord);
  EXPECT_EQ(relay.pieces().size(), 1u);
  EXPECT_EQ(f.state.generated(), 2);
  EXPECT_EQ(relay.Feed(kStop + kDone, kNow), StreamRelay::Result::kDone);
  EXPECT_TRUE(relay.finished());
  EXPECT_EQ(f.state.finish_reason, "stop");
}

TEST(StreamRelay, UsageIsLearnedAndHiddenFromAClientThatDidNotAsk) {
  for (const bool asked : {false, true}) {
    Fixture f;
    f.facts.asks_usage = asked;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    relay.Feed(kWord + kStop + kUsage + kDone, kNow);
    EXPECT_EQ(Joined(relay).find("prompt_tokens") != std::string::npos, asked);
    ASSERT_TRUE(f.state.usage.has_value());
    EXPECT_EQ(*f.state.usage, (Usage{Tokens(7), Tokens(2)}));
  }
}

TEST(StreamRelay, CommentsPassOnlyBehindTheFirstEvent) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  relay.Feed(":\n\n", kNow);
  EXPECT_EQ(Joined(relay), "");
  relay.Feed(kWord + ":\n\n", kNow);
  EXPECT_EQ(Joined(relay), kWord + ":\n\n");
}

TEST(StreamRelay, AnErrorEventIsNotPassedOn) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  const std::string error = "data: {\"error\":{\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}}\n\n";
  EXPECT_EQ(relay.Feed(kWord + error, kNow), StreamRelay::Result::kError);
  EXPECT_EQ(Joined(relay), kWord);
  EXPECT_EQ(relay.error().message, "boom");
}

// Its text would be missing from the answer without anybody noticing, most of all before the finish.
TEST(StreamRelay, AnEventThatLostItsFieldNameIsGarbage) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed(kWord + "\xff\xfe" + kWord + kStop, kNow), StreamRelay::Result::kMalformed);
  EXPECT_EQ(Joined(relay), kWord);
  EXPECT_EQ(relay.counts().in_pieces(), 1);
  EXPECT_FALSE(relay.finished());
}

TEST(StreamRelay, GarbageIsTold) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  EXPECT_EQ(relay.Feed("data: <html>\n\n", kNow), StreamRelay::Result::kMalformed);
}

TEST(StreamRelay, AReassembledAnswerHasTheWholeText) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state, /*longest=*/1 << 20);
  relay.Feed(kRole + kWord + kWord + kStop + kUsage + kDone, kNow);
  EXPECT_TRUE(relay.pieces().empty());
  auto body = relay.Assembled();
  ASSERT_TRUE(body.ok()) << body.status();
  std::string text;
  while (body->Write(10, &text)) continue;
  const auto parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed["choices"][0]["message"]["content"], "wordword");
  EXPECT_EQ(parsed["usage"]["completion_tokens"], 2);
}

TEST(StreamRelay, AReassembledAnswerIsBounded) {
  const std::string stream = kRole + kWord + kStop + kUsage;
  size_t bytes = 0;
  for (const std::string* event : {&kRole, &kWord, &kStop, &kUsage}) bytes += event->size() - strlen("data: \n\n");
  for (const size_t most : {bytes, bytes - 1}) {
    for (const bool reassembled : {true, false}) {
      Fixture f;
      StreamRelay relay(Endpoint::kChat, f.facts, f.state, reassembled ? std::optional<size_t>(most) : std::nullopt);
      const bool too_long = reassembled && most < bytes;
      EXPECT_EQ(relay.Feed(stream, kNow), too_long ? StreamRelay::Result::kTooLong : StreamRelay::Result::kGoOn);
    }
  }
}

std::string WithUsage(const std::string& text, int output) {
  return "data: {\"id\":\"c1\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text +
         "\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":" + std::to_string(output) + "}}\n\n";
}

TEST(StreamRelay, TheUsageOfAnEventTellsItsTokens) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  relay.Feed(kRole + WithUsage("one", 1), kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 1);
  relay.Feed(WithUsage(" two three four", 4), kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 3);
  relay.Feed(WithUsage(" late", 4), kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 1) << "an event with text has a token at least";
  EXPECT_EQ(f.state.generated(), 5);
  relay.Feed(WithUsage(" wrong", 1'000'000'000), kNow);
  EXPECT_LT(f.state.generated(), 200) << "no more tokens than bytes";
}

TEST(StreamRelay, TheUsageOfSeveralChoicesTellsNoTokensOfAnEvent) {
  Fixture f;
  f.facts.n = 2;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  relay.Feed(kRole + WithUsage("one", 9), kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 1);
}

TEST(StreamRelay, TheUsageAtTheEndIsNoTokenOfItsEvent) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  relay.Feed(kRole + kWord, kNow);
  relay.Feed(kStop + kUsage + kDone, kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 0);
  EXPECT_EQ(f.state.generated(), 1);
  EXPECT_EQ(f.state.usage->output, Tokens(2));
}

TEST(StreamRelay, AContinuedAnswerLooksLikeOne) {
  Fixture f;
  f.facts.asks_usage = true;
  StreamRelay first(Endpoint::kChat, f.facts, f.state);
  first.Feed(kRole + kWord + kWord, kNow);
  f.state.delivered = 2;
  EXPECT_EQ(f.state.text.text(), "wordword");
  f.state.Restart(true, true);
  EXPECT_EQ(f.state.carried, 2);

  StreamRelay second(Endpoint::kChat, f.facts, f.state);
  const std::string other_word =
      "data: {\"id\":\"c9\",\"created\":99,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
  const std::string other_usage =
      "data: "
      "{\"id\":\"c9\",\"created\":99,\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"total_"
      "tokens\":10}}\n\n";
  second.Feed(kRole + other_word + other_usage + kDone, kNow);
  const std::string all = Joined(second);
  EXPECT_EQ(all.find("c9"), std::string::npos);
  EXPECT_EQ(all.find("assistant"), std::string::npos);
  EXPECT_NE(all.find("\"created\":5"), std::string::npos);
  EXPECT_NE(all.find("{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}"), std::string::npos) << all;
  EXPECT_EQ(f.state.generated(), 3);
  EXPECT_EQ(f.state.text.text(), "wordwordx");
}

TEST(StreamRelay, StartingAgainForgetsWhatNobodySaw) {
  Fixture f;
  StreamRelay first(Endpoint::kChat, f.facts, f.state, /*longest=*/1 << 20);
  first.Feed(kWord, kNow);
  f.state.Restart(false, true);
  EXPECT_EQ(f.state.generated(), 0);
  EXPECT_EQ(f.state.carried, 0);
  EXPECT_EQ(f.state.text.text(), "");
  EXPECT_FALSE(f.state.resumed);
}

std::string Delta(const std::string& members) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":" + members + "}]}\n\n";
}

TEST(StreamRelay, WhatNoLongerPromptCanRepeatIsNoted) {
  for (const std::string other :
       {R"({"reasoning_content":"hm"})", R"({"reasoning":"hm"})", R"({"refusal":"no"})",
        R"({"tool_calls":[{"index":0,"function":{"arguments":""}}]})", R"({"function_call":{"name":"f"}})",
        R"({"audio":{"id":"a"}})", R"({"content":"q","content":"r"})", R"({"content":"q"},"index":1)",
        R"({"content":"q"}},{"index":0,"delta":{"content":"r"})"}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    relay.Feed(Delta(other), kNow);
    EXPECT_TRUE(f.state.other_text) << other;
  }
  for (const std::string plain :
       {R"({"role":"assistant","content":"a"})", R"({"content":"a","reasoning_content":null})",
        R"({"content":"a","tool_calls":[],"refusal":"","reasoning":""})"}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    relay.Feed(Delta(plain), kNow);
    EXPECT_FALSE(f.state.other_text) << plain;
  }
}

// The white space that a chat template trims off the delivered text comes once, however the next engine cuts it.
TEST(StreamRelay, SpaceThatAPromptCannotCarryIsNotRepeated) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"\\n\\n", "two"}, "two"}, {{"\\n", "\\n", "two"}, "two"},
      {{"\\n\\ntwo"}, "two"},     {{"\\n\\n\\n", "two"}, "\\ntwo"},
      {{" two"}, " two"},         {{"two"}, "two"},
  };
  for (const auto& [pieces, seen] : cases) {
    Fixture f;
    StreamRelay first(Endpoint::kChat, f.facts, f.state);
    first.Feed(kRole + Delta(R"({"content":"one\n\n"})"), kNow);
    f.state.delivered = 1;
    f.state.Restart(true, true);
    EXPECT_EQ(f.state.PromptText(), "one");
    StreamRelay second(Endpoint::kChat, f.facts, f.state);
    std::string all;
    for (const std::string& piece : pieces) {
      second.Feed(Delta("{\"content\":\"" + piece + "\"}"), kNow);
      all += Joined(second);
    }
    std::string text;
    for (size_t at = all.find("content\":\""); at != std::string::npos; at = all.find("content\":\"", at + 1)) {
      text += all.substr(at + 10, all.find('"', at + 10) - at - 10);
    }
    EXPECT_EQ(text, seen) << pieces[0];
    EXPECT_EQ(f.state.text.text(), "one\\n\\n" + seen);
  }
}

TEST(ChunkRewrite, TrailingSpaceIsFoundBehindEscapes) {
  EXPECT_EQ(TrailingSpace("a \\n\\t "), " \\n\\t ");
  EXPECT_EQ(TrailingSpace("a\\\\n"), "");
  EXPECT_EQ(TrailingSpace("a\\\\\\n"), "\\n");
  EXPECT_EQ(TrailingSpace("word"), "");
  EXPECT_EQ(TrailingSpace(""), "");
  EXPECT_EQ(TrailingSpace("\\n"), "\\n");
}

TEST(ChunkRewrite, ClosingEventsAreWhatAnEngineWouldHaveSaid) {
  ChunkNames names;
  names.id = "\"c1\"";
  names.created = "5";
  names.model = "\"m\"";
  const std::string events = ClosingEvents(Endpoint::kChat, names, "length", Usage{Tokens(7), Tokens(2)});
  EXPECT_EQ(events,
            "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\",\"choices\":"
            "[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
            "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":5,\"model\":\"m\",\"choices\":"
            "[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"total_tokens\":9}}\n\n"
            "data: [DONE]\n\n");
  EXPECT_EQ(ClosingEvents(Endpoint::kChat, names, "", std::nullopt), "data: [DONE]\n\n");
}

TEST(DeliveredText, IsBoundedAloneAndTogether) {
  ByteBudget budget;
  const DeliveredText::Limits limits{Bytes(1000), Bytes(1500)};
  {
    DeliveredText at_limit(budget, limits), other(budget, limits);
    at_limit.Append(std::string(600, 'a'));
    at_limit.Append(std::string(400, 'a'));
    EXPECT_TRUE(at_limit.whole());
    EXPECT_EQ(budget.used(), Bytes(1000));
    other.Append(std::string(501, 'b'));  // In all 1,501 and more.
    EXPECT_FALSE(other.whole());
    EXPECT_EQ(budget.used(), Bytes(1000));
    at_limit.Append("a");
    EXPECT_FALSE(at_limit.whole());
    EXPECT_EQ(budget.used(), Bytes(0));
    at_limit.Clear();
    at_limit.Append("fresh");
    EXPECT_TRUE(at_limit.whole());
    DeliveredText moved(std::move(at_limit));
    EXPECT_EQ(moved.text(), "fresh");
    EXPECT_GT(budget.used(), Bytes(0));
  }
  EXPECT_EQ(budget.used(), Bytes(0));
  DeliveredText none;
  none.Append("x");
  EXPECT_FALSE(none.whole());
}

}  // namespace
}  // namespace penstock
