#include "router/core/learning/calibration.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock {
namespace {

// The part of the errors within the band, of forecasts whose errors have `spread` times the claimed deviation.
double CoverageOf(double spread, bool heavy_tails, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> heavy(3);
  Calibration calibration;
  int within = 0;
  constexpr int kForecasts = 2000;
  for (int i = 0; i < kForecasts; ++i) {
    const double claimed = 1 + 0.5 * (i % 5);
    const double error = spread * claimed * (heavy_tails ? heavy(random) : normal(random));
    within += std::abs(error) <= Calibration::kBand * calibration.factor() * claimed ? 1 : 0;
    calibration.Observe(error, claimed);
  }
  return static_cast<double>(within) / kForecasts;
}

TEST(Calibration, NineTenthsOfTheErrorsLieInTheBandWhateverTheirDistribution) {
  for (const double spread : {0.7, 1.0, 2.0, 4.0}) {
    for (const bool heavy_tails : {false, true}) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        EXPECT_NEAR(CoverageOf(spread, heavy_tails, seed), 0.9, 0.01) << spread << " " << heavy_tails << " " << seed;
      }
    }
  }
}

TEST(Calibration, ItStaysWithinItsBounds) {
  Calibration calibration;
  for (int i = 0; i < 1000; ++i) calibration.Observe(100, 1);
  EXPECT_EQ(calibration.factor(), Calibration::kMost);
  for (int i = 0; i < 1000; ++i) calibration.Observe(0, 1);
  EXPECT_EQ(calibration.factor(), Calibration::kLeast);
  calibration.Observe(1, 0);
  EXPECT_EQ(calibration.factor(), Calibration::kLeast) << "a forecast that claims nothing";
}

}  // namespace
}  // namespace penstock
