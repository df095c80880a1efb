// The counts of an engine that are believed, and the router's own that stand in for the others.
#include "router/openai/answer/usage_check.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/openai/relay_for_test.h"

namespace penstock {
namespace {

std::string UsageEvent(const std::string& prompt, const std::string& output, const std::string& cached = "0") {
  return "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" + prompt + ",\"completion_tokens\":" + output +
         ",\"prompt_tokens_details\":{\"cached_tokens\":" + cached + "}}}\n\n";
}

RequestFacts FactsOf(int64_t max_output, int64_t n = 1, int64_t prompts = 1) {
  RequestFacts facts;
  facts.max_output = Tokens(max_output);
  facts.n = n;
  facts.prompts = prompts;
  return facts;
}

TEST(UsageBounds, TheLimitOfTheRequestBoundsItsOutputs) {
  EXPECT_EQ(BoundsOf(FactsOf(100), Tokens(0)).output, Tokens(164));
  EXPECT_EQ(BoundsOf(FactsOf(100, 3, 2), Tokens(0)).output, Tokens(664));
}

TEST(UsageBounds, TwiceTheContextBoundsPromptsAndOutputsWithoutALimit) {
  EXPECT_EQ(BoundsOf(FactsOf(0), Tokens(4096)), (UsageBounds{Tokens(8256), Tokens(8256)}));
  EXPECT_EQ(BoundsOf(FactsOf(100, 1, 2), Tokens(4096)), (UsageBounds{Tokens(16448), Tokens(264)}));
}

TEST(UsageBounds, AnAbsurdLimitOrContextBoundsNothing) {
  const UsageBounds plain = BoundsOf(FactsOf(0), Tokens(0));
  EXPECT_EQ(plain, (UsageBounds{Tokens(kMostTokensOfOne + 64), Tokens(kMostTokensOfOne + 64)}));
  EXPECT_EQ(BoundsOf(FactsOf(int64_t{1} << 31), Tokens(std::numeric_limits<int64_t>::max())), plain);
}

TEST(KeepPossible, CountsAtTheirBoundsStay) {
  UsageCheck check{{Tokens(10), Tokens(20)}, false};
  Usage usage{Tokens(10), Tokens(20), Tokens(10)};
  EXPECT_TRUE(KeepPossible(check, usage));
  EXPECT_EQ(usage, (Usage{Tokens(10), Tokens(20), Tokens(10)}));
  EXPECT_FALSE(check.failed);
}

TEST(KeepPossible, EachImpossibleCountBecomesUnreported) {
  const struct {
    Usage reported, kept;
    bool output;
  } cases[] = {
      {{Tokens(11), Tokens(20), Tokens(5)}, {Tokens(0), Tokens(20), Tokens(-1)}, true},
      {{Tokens(10), Tokens(21), Tokens(5)}, {Tokens(10), Tokens(0), Tokens(5)}, false},
      {{Tokens(10), Tokens(20), Tokens(11)}, {Tokens(10), Tokens(20), Tokens(-1)}, true},
  };
  for (const auto& example : cases) {
    UsageCheck check{{Tokens(10), Tokens(20)}, false};
    Usage usage = example.reported;
    EXPECT_EQ(KeepPossible(check, usage), example.output);
    EXPECT_EQ(usage, example.kept);
    EXPECT_TRUE(check.failed);
  }
}

TEST(StreamRelay, TheEventsStandInForAnImpossibleOutput) {
  for (const std::string lie : {"1000000000000000000", "9223372036854775807", "165"}) {
    Fixture f;
    f.facts = FactsOf(100);
    f.state.usage_check.bounds = BoundsOf(f.facts, Tokens(0));
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    relay.Feed(kWord + kWord + kStop + UsageEvent("7", lie) + kDone, kNow);
    ASSERT_TRUE(f.state.usage.has_value());
    EXPECT_EQ(*f.state.usage, (Usage{Tokens(7), Tokens(2), Tokens(0)})) << lie;
    EXPECT_TRUE(f.state.usage_check.failed);
  }
}

TEST(StreamRelay, AnImpossibleUsageInEveryEventCountsAsOneTokenEach) {
  Fixture f;
  f.state.carried = 3;
  f.state.relayed.counter.Reset(3);
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  const std::string word =
      R"(data: {"choices":[{"index":0,"delta":{"content":"w"}}],"usage":{"prompt_tokens":9223372036854775807,)"
      R"("completion_tokens":9223372036854775807}})"
      "\n\n";
  relay.Feed(word + word, kNow);
  EXPECT_EQ(relay.counts().in_pieces(), 2);
  EXPECT_EQ(*f.state.usage, (Usage{Tokens(0), Tokens(5), Tokens(-1)}));
}

TEST(StreamRelay, CountsThatAreNoIntegersAreUnreported) {
  for (const std::string odd : {"1.5", "\"10\"", "null", "1e300", "[]", "100000000000000000000"}) {
    Fixture f;
    StreamRelay relay(Endpoint::kChat, f.facts, f.state);
    relay.Feed(kWord + kStop + UsageEvent(odd, odd, odd) + kDone, kNow);
    EXPECT_FALSE(f.state.usage.has_value()) << odd;
    EXPECT_EQ(f.state.generated(), 1);
  }
}

TEST(StreamRelay, NegativeCountsAreUnreported) {
  Fixture f;
  StreamRelay relay(Endpoint::kChat, f.facts, f.state);
  relay.Feed(kWord + kStop + UsageEvent("-5", "3", "-1000000000000000000") + kDone, kNow);
  ASSERT_TRUE(f.state.usage.has_value());
  EXPECT_EQ(f.state.usage->prompt, Tokens(0));
  EXPECT_EQ(f.state.usage->output, Tokens(3));
  EXPECT_LT(f.state.usage->cached, Tokens(0));
}

}  // namespace
}  // namespace penstock
