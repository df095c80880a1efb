// No client sees the bytes that an engine sends behind the end of its stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

TEST(StreamEnd, NothingBehindTheEndPasses) {
  for (const std::string& behind : {kWord, std::string(": comment\n\n"), std::string("nonsense\n\n"), kDone}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    EXPECT_EQ(relay.Feed(kWord + kStop + kDone + behind, kNow), StreamRelay::Result::kDone);
    EXPECT_EQ(Joined(relay), kWord + kStop + kDone);
    EXPECT_TRUE(relay.closed());
    EXPECT_EQ(relay.Feed(behind, kNow), StreamRelay::Result::kDone);
    EXPECT_EQ(Joined(relay), "");
    EXPECT_EQ(f.state.generated(), 1);
  }
}

TEST(StreamEnd, AStreamOfOnlyTheMarkIsNoAnswer) {
  for (const std::string before : {"", ": a comment\n\n", "data: null\n\n"}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    EXPECT_EQ(relay.Feed(before + kDone, kNow), StreamRelay::Result::kEmpty) << before;
    EXPECT_FALSE(relay.done());
    EXPECT_TRUE(relay.pieces().empty());
  }
}

TEST(StreamEnd, OnlyTheMarkMayFollowTheLastEventOfAResponse) {
  const std::string last = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
  const std::string more = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n";
  Fixture f;
  StreamRelay relay(Endpoint::kResponses, f.facts, f.state);
  EXPECT_EQ(relay.Feed(more + last + more, kNow), StreamRelay::Result::kDone);
  EXPECT_EQ(Joined(relay), more + last);
  EXPECT_TRUE(relay.done());
  EXPECT_FALSE(relay.closed());
  EXPECT_EQ(relay.Feed(more + kDone + more, kNow), StreamRelay::Result::kDone);
  EXPECT_EQ(Joined(relay), kDone);
  EXPECT_TRUE(relay.closed());
}

TEST(StreamRelay, ProgressCountsTheTokensThatAnEventUsuallyCarries) {
  Fixture f;
  f.state.relayed.per_event = 2.5;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  int64_t passed = 0;
  for (int i = 0; i < 4; ++i) {
    relay.Feed(kWord, kNow);
    passed += relay.counts().in_pieces();
  }
  EXPECT_EQ(f.state.generated(), 10);
  EXPECT_EQ(f.state.relayed.events, 4);
  EXPECT_EQ(passed, 4) << "the client is sure to have one token per event only";
  relay.Feed(kStop + kUsage + kDone, kNow);
  EXPECT_EQ(f.state.output(), Tokens(2)) << "the engine's own count decides at the end";
}

TEST(StreamRelay, ACountOfTheTextThatDiffersMuchIsRemembered) {
  Fixture f;
  f.state.relayed.per_event = 5;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  for (int i = 0; i < 100; ++i) {
    relay.Feed(kWord, kNow);
    f.state.delivered += relay.counts().in_pieces();
  }
  EXPECT_EQ(relay.counts().progress(), 5) << "of the last read";
  f.state.Restart(/*keep_delivered=*/true, /*trimmed=*/false);
  EXPECT_EQ(f.state.relayed.before, 500);
  f.state.CountText(Tokens(520));
  EXPECT_FALSE(f.state.relayed.miscounted);
  EXPECT_EQ(f.state.generated(), 520);
  f.state.CountText(Tokens(100));
  EXPECT_TRUE(f.state.relayed.miscounted);
}

// An engine reported a usage that its text cannot have: the answer goes on for the rest of its true length.
TEST(StreamRelay, TheCountOfTheTextStandsAgainstAnImpossibleUsage) {
  for (const auto& [told, kept] : {std::pair(120, 3), std::pair(5, 5)}) {
    Fixture f;
    f.state.delivered = 3;
    f.state.text.Append("w0 w1 w2 ");
    f.state.usage = Usage();
    f.state.usage->output = Tokens(told);
    f.state.relayed.counter.Reset(told);
    f.state.Restart(/*keep_delivered=*/true, /*trimmed=*/false);
    EXPECT_EQ(f.state.client_tokens(), std::min(told, 25)) << "a byte for each token, and some that have no text";
    f.state.CountText(Tokens(3));
    EXPECT_EQ(f.state.client_tokens(), kept);
  }
}

TEST(StreamEnd, AnAnswerOfTwoChoicesEndsWhenBothHaveEnded) {
  Fixture f;
  f.facts.n = 2;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  const auto stop = [](const char* index) {
    return std::string("data: {\"choices\":[{\"index\":") + index + ",\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
  };
  relay.Feed(kWord + stop("0") + stop("0"), kNow);
  EXPECT_FALSE(relay.finished()) << "the other choice is not whole";
  relay.Feed(stop("1"), kNow);
  EXPECT_TRUE(relay.finished());
}

}  // namespace
}  // namespace penstock
