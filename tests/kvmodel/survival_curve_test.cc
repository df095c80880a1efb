#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kvmodel/output/survival_curve.h"

namespace penstock {
namespace {

using Hazards = std::array<double, kOutputBins>;

Hazards Constant(double hazard) {
  Hazards hazards;
  hazards.fill(hazard);
  return hazards;
}

TEST(OutputBin, IsTheBinOfTheLogarithm) {
  EXPECT_EQ(OutputBin(0), 0);
  EXPECT_EQ(OutputBin(1), 0);
  EXPECT_EQ(OutputBin(2), 12);
  EXPECT_EQ(OutputBin(3), 19);
  EXPECT_EQ(OutputBin(1024), 120);
  EXPECT_EQ(OutputBin(131'071), kOutputBins - 1);
  EXPECT_EQ(OutputBin(1e9), kOutputBins - 1);
  for (double tokens = 1; tokens < 131'000; tokens *= 1.00137) {
    ASSERT_LE(OutputBinLower(OutputBin(tokens)), tokens);
    ASSERT_GT(OutputBinLower(OutputBin(tokens) + 1), tokens);
  }
}

TEST(OutputBin, EdgesBelongToTheBinAbove) {
  for (int bin = 1; bin < kOutputBins; ++bin) {
    EXPECT_NEAR(OutputBinLower(bin), std::exp2(bin / 12.0), 1e-9 * OutputBinLower(bin));
    EXPECT_EQ(OutputBin(OutputBinLower(bin)), bin);
    EXPECT_EQ(OutputBin(std::nextafter(OutputBinLower(bin), 0)), bin - 1);
  }
}

TEST(SurvivalCurve, IsOneBelowOneTokenAndNeverRises) {
  const SurvivalCurve curve(Constant(0.025));
  EXPECT_EQ(curve.At(0), 1);
  EXPECT_EQ(curve.At(0.99), 1);
  double last = 1;
  for (double tokens = 0; tokens < 200'000; tokens = tokens * 1.003 + 0.1) {
    const double now = curve.At(tokens);
    ASSERT_LE(now, last) << tokens;
    ASSERT_GT(now, 0) << tokens;
    last = now;
  }
}

TEST(SurvivalCurve, IsExactForWholeLengths) {
  Hazards hazards = Constant(0);
  hazards[OutputBin(1)] = 0.2;
  hazards[OutputBin(3)] = 0.5;
  const SurvivalCurve curve(hazards);
  EXPECT_NEAR(curve.At(1), 0.8, 1e-6);
  EXPECT_NEAR(curve.At(2), 0.8, 1e-6);
  EXPECT_NEAR(curve.At(3), 0.4, 1e-6);
  EXPECT_NEAR(curve.At(100'000), 0.4, 1e-6);
  // The bin from 1024 to 1084 holds 61 lengths.
  Hazards wide = Constant(0);
  wide[120] = 0.61;
  EXPECT_NEAR(SurvivalCurve(wide).At(1023), 1, 1e-6);
  EXPECT_NEAR(SurvivalCurve(wide).At(1024), 1 - 0.61 / 61, 1e-6);
  EXPECT_NEAR(SurvivalCurve(wide).At(1084), 0.39, 1e-6);
}

TEST(SurvivalCurve, CertainHazardsStillLeaveAChance) {
  const SurvivalCurve curve(Constant(1));
  EXPECT_GT(curve.At(131'072), 0);
  EXPECT_GT(curve.At(101'000) / curve.At(100'000), 0);
  EXPECT_LE(curve.At(101'000) / curve.At(100'000), 1);
}

TEST(SurvivalCurve, ABadHazardCountsAsNone) {
  Hazards hazards = Constant(0);
  hazards[3] = -1;
  hazards[5] = std::nan("");
  EXPECT_EQ(SurvivalCurve(hazards).At(1000), 1);
}

TEST(SurvivalCurve, AGridIsReadAsItsPoints) {
  const SurvivalCurve curve(Constant(0.03));
  const std::array<double, 5> tokens = {0, 0.5, 10, 1000.25, 1e7};
  std::array<double, 5> grid;
  curve.AtEach(tokens, grid);
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(grid[i], curve.At(tokens[i]));
}

TEST(SurvivalCurve, TheQuantileIsTheSmallestLengthThatReachesIt) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    Hazards hazards;
    for (double& hazard : hazards) hazard = random() % 3 == 0 ? 0 : 0.0001 * static_cast<double>(random() % 1000);
    const SurvivalCurve curve(hazards);
    const double q = 0.01 + 0.98 * static_cast<double>(random() % 1000) / 1000;
    const double given = trial % 2 == 0 ? 0 : std::floor(std::exp2(static_cast<double>(random() % 12)));
    const double target = (1 - q) * curve.At(given);
    const double length = curve.Quantile(q, given);
    if (length >= 131'072) {
      EXPECT_GT(curve.At(131'071), target * (1 - 1e-6));
      continue;
    }
    EXPECT_EQ(length, std::floor(length));
    EXPECT_LE(curve.At(length), target * (1 + 1e-6)) << "seed 3, trial " << trial;
    EXPECT_GT(curve.At(length - 1), target * (1 - 1e-6)) << "seed 3, trial " << trial;
    EXPECT_GT(length, given);
  }
}

TEST(SurvivalCurve, TheZeroQuantileIsWhatIsGiven) { EXPECT_EQ(SurvivalCurve(Constant(0.1)).Quantile(0, 17), 17); }

TEST(SurvivalCurve, MeanRemainingIsTheSumOfTheChances) {
  const SurvivalCurve curve(Constant(0.03));
  for (const double given : {0.0, 1.0, 2.0, 7.0, 100.0, 1000.0}) {
    for (const double cap : {0.0, 1.0, 3.0, 101.0, 5000.0}) {
      double sum = 0;
      for (double t = given; t < cap; ++t) sum += curve.At(t);
      EXPECT_NEAR(curve.MeanRemaining(given, cap), sum / curve.At(given), 1e-3 + 1e-6 * sum) << given << " " << cap;
    }
  }
}

TEST(SurvivalCurve, MeanRemainingGoesOnBeyondTheLastBin) {
  const SurvivalCurve curve(Constant(0));
  EXPECT_NEAR(curve.MeanRemaining(100, 200'000), 199'900, 1e-6);
}

}  // namespace
}  // namespace penstock
