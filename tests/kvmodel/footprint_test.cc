#include "kvmodel/footprint.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock {
namespace {

Footprint Windowed(Tokens window, Tokens block) { return {10, 4, window, 0, block, Tokens(1)}; }

TEST(Footprint, ZeroTokensHoldNothing) {
  const Footprint footprint{10, 4, Tokens(64), 500, Tokens(16), Tokens(1)};
  EXPECT_EQ(footprint.Of(Tokens(0)), Amount(0));
  EXPECT_EQ(footprint.Expected(0), 0);
}

TEST(Footprint, AStartedBlockIsASpentBlock) {
  const Footprint footprint = Footprint::InTokens(Tokens(16));
  EXPECT_EQ(footprint.Of(Tokens(1)), Amount(16));
  EXPECT_EQ(footprint.Of(Tokens(16)), Amount(16));
  EXPECT_EQ(footprint.Of(Tokens(17)), Amount(32));
}

TEST(Footprint, AWindowHoldsOneBlockMoreThanItsLengthAndThenStopsGrowing) {
  const Footprint footprint = Windowed(Tokens(64), Tokens(16));
  EXPECT_EQ(footprint.Of(Tokens(80)), Amount(80 * 14));
  EXPECT_EQ(footprint.Of(Tokens(160)), Amount(160 * 10 + 80 * 4));
}

TEST(Footprint, AChunkInFlightWidensTheWindow) {
  Footprint footprint = Windowed(Tokens(1024), Tokens(16));
  footprint.in_flight = Tokens(2048);
  // ceil((1023 + 2048) / 16) + 1 = 193 blocks.
  EXPECT_EQ(footprint.Of(Tokens(16000)), Amount(16000 * 10 + 193 * 16 * 4));
}

TEST(Footprint, TheConstantPartIsHeldFromTheFirstToken) {
  const Footprint footprint{0, 0, Tokens(0), 500, Tokens(16), Tokens(1)};
  EXPECT_EQ(footprint.Of(Tokens(1)), Amount(500));
  EXPECT_EQ(footprint.Of(Tokens(100'000)), Amount(500));
  EXPECT_EQ(footprint.TokensWithin(Amount(499)), Tokens(0));
  EXPECT_EQ(footprint.TokensWithin(Amount(500)), Footprint::kUnboundedTokens);
}

TEST(Footprint, WithBlocksOfOneTokenTheExpectationIsExact) {
  const Footprint footprint = Footprint::InTokens(Tokens(1));
  for (int tokens = 0; tokens < 100; ++tokens) EXPECT_EQ(footprint.Expected(tokens), tokens);
}

TEST(Footprint, TheExpectationIsTheMeanOverManyLengths) {
  for (const Footprint& footprint : {Footprint::InTokens(Tokens(16)), Windowed(Tokens(128), Tokens(32))}) {
    double exact = 0;
    double expected = 0;
    for (int tokens = 1; tokens <= 128; ++tokens) {
      exact += footprint.Of(Tokens(tokens)).AsDouble();
      expected += footprint.Expected(tokens);
    }
    EXPECT_NEAR(expected, exact, 0.01 * exact);
  }
}

TEST(Footprint, TheExpectationNeverFallsAndStaysWithinTheCap) {
  const Footprint footprint = Windowed(Tokens(100), Tokens(16));
  double last = 0;
  for (double tokens = 0.5; tokens < 1000; tokens += 0.5) {
    const double now = footprint.Expected(tokens);
    EXPECT_GE(now, last);
    EXPECT_LE(now, footprint.Of(Tokens(static_cast<int64_t>(tokens) + 16)).AsDouble());
    last = now;
  }
}

TEST(Footprint, TokensWithinIsTheLargestCountThatFits) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    const Footprint footprint{1 + pick(50) * 0.37, pick(3) * 7.3,        Tokens(pick(2) * (1 + pick(300))),
                              pick(4) * 100.0,     Tokens(1 + pick(64)), Tokens(1 + pick(3) * 100)};
    const Amount amount(pick(60'000));
    const Tokens tokens = footprint.TokensWithin(amount);
    ASSERT_LE(footprint.Of(tokens), amount) << "seed 7, trial " << trial;
    ASSERT_GT(footprint.Of(tokens + Tokens(1)), amount) << "seed 7, trial " << trial;
  }
}

TEST(Footprint, AWindowInAllLayersBoundsOneSequenceForEver) {
  const Footprint footprint{0, 4, Tokens(64), 0, Tokens(16), Tokens(1)};
  EXPECT_EQ(footprint.TokensWithin(Amount(80 * 4)), Footprint::kUnboundedTokens);
  EXPECT_EQ(footprint.TokensWithin(Amount(79 * 4)), Tokens(64));
}

}  // namespace
}  // namespace penstock
