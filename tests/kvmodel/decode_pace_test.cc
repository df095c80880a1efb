#include "kvmodel/decode_pace.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(DecodePace, ASteadyPaceIsARate) {
  const DecodePace pace = DecodePace::Steady(20);
  EXPECT_DOUBLE_EQ(pace.TokensIn(0, 5), 100);
  EXPECT_DOUBLE_EQ(pace.TokensIn(2, 5), 60);
}

TEST(DecodePace, ThePresentRateFadesIntoTheUsualOne) {
  const DecodePace slow{10, 40};
  EXPECT_NEAR(slow.TokensIn(0, 0.01), 0.1, 1e-3) << "now";
  EXPECT_NEAR(slow.TokensIn(100, 101), 40, 1e-6) << "later";
  EXPECT_NEAR(slow.TokensIn(0, 100), 40 * 100 - 30 * DecodePace::kReturn, 1e-6);
}

TEST(DecodePace, TokensOfPartsAddUp) {
  const DecodePace pace{50, 15};
  EXPECT_NEAR(pace.TokensIn(0, 2) + pace.TokensIn(2, 7), pace.TokensIn(0, 7), 1e-9);
}

TEST(StepPace, WithoutStepsItIsThatOfADecodeStep) {
  const DecodePace pace = StepPace().Of(0.02);
  EXPECT_DOUBLE_EQ(pace.now, 50);
  EXPECT_DOUBLE_EQ(pace.usual, 50);
}

TEST(StepPace, ABurstOfPromptsSlowsTheRateNowAndHardlyTheUsualOne) {
  StepPace learned;
  learned.Observe(3000, 0.02, 0.02);
  learned.Observe(50, 0.10, 0.02);
  const DecodePace pace = learned.Of(0.02);
  EXPECT_NEAR(1 / pace.now, 0.02 + 0.08 * 0.636, 0.001);
  EXPECT_NEAR(1 / pace.usual, 0.02 + 0.08 * 0.080, 0.001);
}

TEST(StepPace, AReplicaThatIsBusierThanUsualReturnsToItsUsualSteps) {
  StepPace learned;
  learned.Observe(3000, 0.02, 0.02);
  const DecodePace pace = learned.Of(0.03);
  EXPECT_NEAR(1 / pace.now, 0.03, 1e-4);
  EXPECT_NEAR(1 / pace.usual, 0.02, 1e-3);
}

TEST(StepPace, AStreamIsNeverForecastFasterThanTwoTokensPerStep) {
  StepPace learned;
  learned.Observe(3000, 0.001, 0.02);
  const DecodePace pace = learned.Of(0.02);
  EXPECT_DOUBLE_EQ(pace.now, 100);
  EXPECT_DOUBLE_EQ(pace.usual, 100);
}

}  // namespace
}  // namespace penstock
