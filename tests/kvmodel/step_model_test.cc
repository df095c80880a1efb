#include "kvmodel/step_model.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr StepCoefficients kPrior{10, 0.1, 1, 0.05, 2};  // Milliseconds.
constexpr PrefillWork kNoPrefill;

TEST(StepModel, StartsFromItsPrior) {
  const StepModel model(kPrior, true);
  EXPECT_DOUBLE_EQ(model.DecodeStep(20, 3000, 0), 0.010 + 0.002 + 0.003);
  EXPECT_DOUBLE_EQ(model.PriceOfPrefill(0).per_token, 0.05e-3);
  EXPECT_DOUBLE_EQ(model.PriceOfPrefill(0).per_pair, 2e-9);
  EXPECT_DOUBLE_EQ(model.PriceOfPrefill(1).per_pair, 1.5 * 2e-9);
}

TEST(FirstTokenAlone, PaysTheStepFloorForEveryBatchOfThePrompt) {
  const double two = (10 + 0.05 * 2048 + 2 * 2.048 * 2.048) * 1e-3;
  EXPECT_DOUBLE_EQ(FirstTokenAlone(kPrior, PrefillOf(Tokens(0), Tokens(2048)), Tokens(2048)), two);
  const double three = (20 + 0.05 * 2049 + 2 * 2.049 * 2.049) * 1e-3;
  EXPECT_DOUBLE_EQ(FirstTokenAlone(kPrior, PrefillOf(Tokens(0), Tokens(2049)), Tokens(2048)), three);
}

TEST(StepModel, BusyNeighboursCostWhatTheSharingOfTheGpuMakesLikelyUntilGapsAreSeen) {
  const StepModel time_sliced(kPrior, true, StepModel::kTimeSliced);
  EXPECT_DOUBLE_EQ(time_sliced.Factor(1), 2);
  EXPECT_DOUBLE_EQ(time_sliced.Factor(2), 3) << "as the simulated GPU has it: the number of steps in flight";
  const StepModel mps(kPrior, true, StepModel::kMps);
  EXPECT_DOUBLE_EQ(mps.Factor(1), 1.5);
}

TEST(StepModel, FollowsAFactorOfFourWithinAHundredSteps) {
  StepModel model(kPrior, true);
  for (int i = 0; i < 100; ++i) model.Observe(4 * model.prior().DecodeMs(8, 4000) * 1e-3, 1, 8, 4000, kNoPrefill, 0);
  EXPECT_NEAR(model.Factor(0), 4, 0.05);
  EXPECT_DOUBLE_EQ(model.Factor(1), 1.5) << "other numbers of neighbours are learned by themselves";
}

TEST(StepModel, StepsOfOneSampleWeighAsManyObservations) {
  StepModel one_by_one(kPrior, true);
  StepModel at_once(kPrior, true);
  const double step = 2 * kPrior.DecodeMs(8, 4000) * 1e-3;
  for (int i = 0; i < 5; ++i) one_by_one.Observe(step, 1, 8, 4000, kNoPrefill, 0);
  at_once.Observe(5 * step, 5, 8, 4000, kNoPrefill, 0);
  EXPECT_NEAR(one_by_one.Factor(0), at_once.Factor(0), 1e-9);
}

TEST(StepModel, PrefillExplainsALongStep) {
  StepModel model(kPrior, true);
  // A chunk of 2,000 tokens behind 30,000: 2^2 + 2 x 2 x 30 = 124 million pairs.
  const PrefillWork chunk = PrefillOf(Tokens(30'000), Tokens(32'000));
  model.Observe((kPrior.DecodeMs(8, 4000) + 0.05 * 2000 + 2 * 124) * 1e-3, 1, 8, 4000, chunk, 0);
  EXPECT_NEAR(model.Factor(0), 1, 1e-9);
}

TEST(StepModel, OneFreakStepMovesAKnownPriorLittleAndAGuessedOneFully) {
  StepModel known(kPrior, true);
  StepModel guessed(kPrior, false);
  const double step = kPrior.DecodeMs(8, 4000) * 1e-3;
  known.Observe(1000 * step, 1, 8, 4000, kNoPrefill, 0);
  guessed.Observe(10 * step, 1, 8, 4000, kNoPrefill, 0);
  EXPECT_NEAR(known.Factor(0), 1 + 0.05 * 7, 1e-9) << "ratios are clamped at 8";
  EXPECT_NEAR(guessed.Factor(0), 10, 1e-9);
}

TEST(StepModel, NonsenseIsIgnored) {
  StepModel model(kPrior, true);
  model.Observe(0, 1, 8, 4000, kNoPrefill, 0);
  model.Observe(-1, 1, 8, 4000, kNoPrefill, 0);
  model.Observe(0.1, 0, 0, 0, kNoPrefill, 0);
  EXPECT_DOUBLE_EQ(model.Factor(0), 1);
}

}  // namespace
}  // namespace penstock
