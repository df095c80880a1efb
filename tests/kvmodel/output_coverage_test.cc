// The share of outputs within the forecast median after few outputs, over several laws of their lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kvmodel/output/output_forecast.h"

namespace penstock {
namespace {

using Key = OutputForecaster::Key;

double DrawnLogNormal(std::mt19937& random, double median, double sigma) {
  return std::lognormal_distribution<double>(std::log(median), sigma)(random);
}

struct Law {
  const char* name;
  double (*draw)(std::mt19937& random);
};

const Law kLaws[] = {
    {"as the prior", [](std::mt19937& random) { return DrawnLogNormal(random, 150, 1.2); }},
    {"long", [](std::mt19937& random) { return DrawnLogNormal(random, 800, 0.5); }},
    {"short", [](std::mt19937& random) { return DrawnLogNormal(random, 30, 1); }},
    {"exponential", [](std::mt19937& random) { return std::exponential_distribution<double>(1.0 / 300)(random); }},
    {"uniform", [](std::mt19937& random) { return std::uniform_real_distribution<double>(1, 1000)(random); }},
    {"of two kinds",
     [](std::mt19937& random) {
       return random() % 10 < 3 ? DrawnLogNormal(random, 20, 0.3) : DrawnLogNormal(random, 700, 0.3);
     }},
};

// Half of 200 lengths has a standard deviation of 3.5 points, and so has the median of the 200 before. The mean over 40
// services has one of 0.8 points.
TEST(OutputCoverage, TheMedianCoversHalfOfTheOutputsOnceTwoHundredHaveEnded) {
  constexpr int kServices = 40;
  constexpr int kEnded = 200;
  for (const Law& law : kLaws) {
    int within_p50 = 0;
    int within_p90 = 0;
    for (int service = 0; service < kServices; ++service) {
      OutputForecaster forecaster;
      std::mt19937 random(static_cast<uint32_t>(service));
      for (int i = 0; i < 2 * kEnded; ++i) {
        const Key key{ModelId(1), TenantId(1), Tokens(64 << (random() % 6)), Tokens(0), 0};
        const int64_t length = std::max<int64_t>(1, std::llround(law.draw(random)));
        if (i >= kEnded) {
          const auto curve = forecaster.CurveFor(key);
          within_p50 += static_cast<double>(length) <= curve->Quantile(0.5) ? 1 : 0;
          within_p90 += static_cast<double>(length) <= curve->Quantile(0.9) ? 1 : 0;
        }
        forecaster.Advance(key, Tokens(0), Tokens(length));
        forecaster.Finish(key, Tokens(length));
      }
    }
    constexpr double kForecasts = kServices * kEnded;
    EXPECT_NEAR(within_p50 / kForecasts, 0.5, 0.03) << law.name << ", seeds 0 to 39";
    EXPECT_NEAR(within_p90 / kForecasts, 0.9, 0.02) << law.name << ", seeds 0 to 39";
  }
}

}  // namespace
}  // namespace penstock
