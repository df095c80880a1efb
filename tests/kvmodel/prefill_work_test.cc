#include "kvmodel/prefill_work.h"

#include <gtest/gtest.h>

#include "base/generator.h"

namespace penstock {
namespace {

TEST(PrefillWork, AChunkHasItsSquareAndTwiceItsContextInPairs) {
  EXPECT_EQ(PrefillOf(Tokens(0), Tokens(1000)), (PrefillWork{Tokens(1000), TokenPairs(1'000'000)}));
  EXPECT_EQ(PrefillOf(Tokens(3000), Tokens(3500)), (PrefillWork{Tokens(500), TokenPairs(250'000 + 3'000'000)}));
  EXPECT_EQ(PrefillOf(Tokens(700), Tokens(700)), PrefillWork());
}

TEST(PrefillWork, TheSumDoesNotDependOnTheChunking) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  bench::Generator random(kSeed);
  for (int i = 0; i < 200; ++i) {
    const int64_t cached = static_cast<int64_t>(random.Uniform() * 100'000);
    const int64_t prompt = cached + static_cast<int64_t>(random.Uniform() * 131'072);
    PrefillWork sum;
    for (int64_t at = cached; at < prompt;) {
      const int64_t end = std::min(prompt, at + 1 + static_cast<int64_t>(random.Uniform() * 8192));
      sum += PrefillOf(Tokens(at), Tokens(end));
      at = end;
    }
    EXPECT_EQ(sum, PrefillOf(Tokens(cached), Tokens(prompt)));
    EXPECT_EQ(sum + PrefillOf(Tokens(0), Tokens(cached)), PrefillOf(Tokens(0), Tokens(prompt)));
  }
}

TEST(PrefillWork, AnEngineComputesOneTokenOrMoreOfEveryPrompt) {
  EXPECT_EQ(UncachedPrefill(Tokens(100), Tokens(300)), PrefillOf(Tokens(100), Tokens(300)));
  EXPECT_EQ(UncachedPrefill(Tokens(300), Tokens(300)), PrefillOf(Tokens(299), Tokens(300)));
  EXPECT_EQ(UncachedPrefill(Tokens(900), Tokens(300)), PrefillOf(Tokens(299), Tokens(300)));
  EXPECT_EQ(UncachedPrefill(Tokens(0), Tokens(0)), PrefillOf(Tokens(0), Tokens(1)));
}

TEST(PrefillWork, AnAbsurdPromptOverflowsNothing) {
  const PrefillWork absurd = PrefillOf(Tokens(0), Tokens(int64_t{1} << 62));
  EXPECT_EQ(absurd.tokens, Tokens(int64_t{1} << 62));
  EXPECT_EQ(absurd.pairs, TokenPairs(int64_t{1} << 56));
}

TEST(PrefillPrice, LeadingTokensAreTheInverseOfTheTimeOfAPrompt) {
  for (const PrefillPrice price : {PrefillPrice{5e-5, 2e-9}, PrefillPrice{5e-5, 0}, PrefillPrice{0, 2e-9}}) {
    for (const int64_t tokens : {1, 500, 20'000, 131'072}) {
      const double seconds = price.Of(PrefillOf(Tokens(0), Tokens(tokens)));
      EXPECT_NEAR(price.LeadingTokens(seconds), static_cast<double>(tokens), 1e-6 * static_cast<double>(tokens));
    }
  }
  EXPECT_EQ(PrefillPrice().LeadingTokens(1), 0);
  EXPECT_EQ((PrefillPrice{5e-5, 2e-9}).LeadingTokens(-1), 0);
}

}  // namespace
}  // namespace penstock
