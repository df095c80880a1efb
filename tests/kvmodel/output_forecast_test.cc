#include "kvmodel/output/output_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/source_dir.h"

namespace penstock {
namespace {

using Key = OutputForecaster::Key;

constexpr ModelId kModel(1);

Key Of(uint64_t tenant, int64_t prompt = 500, bool limit = false) {
  return {kModel, TenantId(tenant), Tokens(prompt), Tokens(limit ? 4096 : 0), 0};
}

void Observe(OutputForecaster& forecaster, const Key& key, int64_t length) {
  forecaster.Advance(key, Tokens(0), Tokens(length));
  forecaster.Finish(key, Tokens(length));
}

int64_t LogNormal(std::mt19937& random, double median, double sigma) {
  return std::max<int64_t>(1, std::llround(std::lognormal_distribution<double>(std::log(median), sigma)(random)));
}

TEST(OutputForecaster, StartsFromALogNormalOfMedian150) {
  OutputForecaster forecaster;
  const auto curve = forecaster.CurveFor(Of(1));
  EXPECT_NEAR(curve->Quantile(0.5), 150, 3);
  EXPECT_NEAR(curve->Quantile(0.8413), 150 * std::exp(1.2), 15);
  EXPECT_NEAR(curve->Quantile(0.1587), 150 * std::exp(-1.2), 3);
  EXPECT_EQ(forecaster.cells(), 0U);
}

TEST(OutputForecaster, ConvergesToTheLengthsItSees) {
  for (const double median : {12.0, 80.0, 900.0, 20'000.0}) {
    OutputForecaster forecaster;
    std::mt19937 random(21);
    for (int i = 0; i < 4000; ++i) Observe(forecaster, Of(1), LogNormal(random, median, 0.7));
    const auto curve = forecaster.CurveFor(Of(1));
    EXPECT_NEAR(curve->Quantile(0.5) / median, 1, 0.1) << "seed 21, median " << median;
    EXPECT_NEAR(curve->Quantile(0.9) / (median * std::exp(0.7 * 1.2816)), 1, 0.12) << "seed 21, median " << median;
  }
}

TEST(OutputForecaster, ConvergesToTwoPeaks) {
  OutputForecaster forecaster;
  std::mt19937 random(22);
  for (int i = 0; i < 3000; ++i) Observe(forecaster, Of(1), LogNormal(random, i % 2 == 0 ? 20 : 2000, 0.2));
  const auto curve = forecaster.CurveFor(Of(1));
  EXPECT_NEAR(curve->At(200), 0.5, 0.03);
  EXPECT_NEAR(curve->Quantile(0.5, 100), 2000, 200);
}

TEST(OutputForecaster, BacksOffFromADetailToItsTenantToItsModelToThePrior) {
  OutputForecaster forecaster;
  std::mt19937 random(23);
  for (int i = 0; i < 1000; ++i) {
    Observe(forecaster, Of(1, 100), LogNormal(random, 30, 0.3));
    Observe(forecaster, Of(2, 100), LogNormal(random, 1000, 0.3));
  }
  const double known = forecaster.CurveFor(Of(1, 100))->Quantile(0.5);
  const double other_prompt = forecaster.CurveFor(Of(1, 10'000))->Quantile(0.5);
  const double other_limit = forecaster.CurveFor(Of(1, 100, true))->Quantile(0.5);
  EXPECT_NEAR(known, 30, 3);
  EXPECT_NEAR(other_prompt, 30, 4);
  EXPECT_NEAR(other_limit, 30, 4);
  // An unknown tenant sees the model's mixture, another model the prior.
  EXPECT_NEAR(forecaster.CurveFor(Of(3))->At(200), 0.5, 0.03);
  EXPECT_NEAR(forecaster.CurveFor({ModelId(9), TenantId(1), Tokens(100), Tokens(0), 0})->Quantile(0.5), 150, 3);
}

TEST(OutputForecaster, AThinCellIsMostlyItsParent) {
  OutputForecaster forecaster;
  std::mt19937 random(24);
  for (int i = 0; i < 2000; ++i) Observe(forecaster, Of(1, 100), LogNormal(random, 30, 0.3));
  Observe(forecaster, Of(1, 10'000), 5000);
  EXPECT_NEAR(forecaster.CurveFor(Of(1, 10'000))->Quantile(0.5), 30, 6);
  for (int i = 0; i < 300; ++i) Observe(forecaster, Of(1, 10'000), 5000);
  EXPECT_NEAR(forecaster.CurveFor(Of(1, 10'000))->Quantile(0.5), 5000, 500);
}

TEST(OutputForecaster, PromptsOfOneOctaveShareACell) {
  OutputForecaster forecaster;
  Observe(forecaster, Of(1, 256), 10);
  const size_t cells = forecaster.cells();
  Observe(forecaster, Of(1, 511), 10);
  EXPECT_EQ(forecaster.cells(), cells);
  Observe(forecaster, Of(1, 512), 10);
  EXPECT_EQ(forecaster.cells(), cells + 1);
  Observe(forecaster, Of(1, 512, true), 10);
  EXPECT_EQ(forecaster.cells(), cells + 2);
}

TEST(OutputForecaster, RunningStreamsCountAsSoonAsTheyPassABin) {
  OutputForecaster forecaster;
  const double before = forecaster.CurveFor(Of(1))->At(1000);
  for (int i = 0; i < 50; ++i) forecaster.Advance(Of(1), Tokens(0), Tokens(2000));
  EXPECT_LT(before, 0.1);
  EXPECT_GT(forecaster.CurveFor(Of(1))->At(1000), 0.5);
}

TEST(OutputForecaster, AdvancingInSmallStepsEqualsAdvancingAtOnce) {
  OutputForecaster small;
  OutputForecaster large;
  for (int64_t t = 0; t < 3000; ++t) small.Advance(Of(1), Tokens(t), Tokens(t + 1));
  large.Advance(Of(1), Tokens(0), Tokens(3000));
  for (double t = 1; t < 10'000; t *= 1.1) {
    ASSERT_EQ(small.CurveFor(Of(1))->At(t), large.CurveFor(Of(1))->At(t)) << t;
  }
}

TEST(OutputForecaster, CutStreamsDoNotShortenTheForecast) {
  OutputForecaster forecaster;
  std::mt19937 random(25);
  // Half the streams are cut at 100 tokens, whatever their natural length.
  for (int i = 0; i < 3000; ++i) {
    const int64_t length = LogNormal(random, 400, 0.5);
    if (i % 2 == 0 && length > 100) {
      forecaster.Advance(Of(1), Tokens(0), Tokens(100));
    } else {
      Observe(forecaster, Of(1), length);
    }
  }
  EXPECT_NEAR(forecaster.CurveFor(Of(1))->Quantile(0.5) / 400, 1, 0.1);
}

TEST(OutputForecaster, FollowsADrift) {
  OutputForecaster forecaster;
  std::mt19937 random(26);
  for (int i = 0; i < 20'000; ++i) Observe(forecaster, Of(1), LogNormal(random, 50, 0.5));
  for (int i = 0; i < 9000; ++i) Observe(forecaster, Of(1), LogNormal(random, 1000, 0.5));
  EXPECT_NEAR(forecaster.CurveFor(Of(1))->Quantile(0.5) / 1000, 1, 0.15);
}

TEST(OutputForecaster, AnUnchangedCurveIsShared) {
  OutputForecaster forecaster;
  for (int i = 0; i < 100; ++i) Observe(forecaster, Of(1), 200);
  const auto first = forecaster.CurveFor(Of(1));
  EXPECT_EQ(forecaster.CurveFor(Of(1)), first);
  forecaster.Advance(Of(1), Tokens(200), Tokens(201));
  EXPECT_EQ(forecaster.CurveFor(Of(1)), first) << "no bin was passed";
  for (int i = 0; i < 10; ++i) Observe(forecaster, Of(1), 200);
  EXPECT_NE(forecaster.CurveFor(Of(1)), first);
  EXPECT_GT(first->At(100), 0) << "a lease may hold it on";
}

TEST(OutputForecaster, ANewDetailIsSeenAtOnceThoughItsModelIsOld) {
  OutputForecaster forecaster;
  for (int i = 0; i < 20'000; ++i) Observe(forecaster, Of(1, 100), 50);
  const double before = forecaster.CurveFor(Of(2, 100))->Quantile(0.5);
  for (int i = 0; i < 30; ++i) Observe(forecaster, Of(2, 100), 4000);
  EXPECT_NEAR(before, 50, 5);
  EXPECT_NEAR(forecaster.CurveFor(Of(2, 100))->Quantile(0.5), 4000, 400);
}

TEST(OutputForecaster, TenantsAreBoundedAndTheLeastRecentGoesFirst) {
  OutputForecaster forecaster(64);
  for (int i = 0; i < 200; ++i) Observe(forecaster, Of(1), 3000);
  for (uint64_t tenant = 2; tenant < 500; ++tenant) {
    Observe(forecaster, Of(tenant), 20);
    if (tenant % 10 == 0) Observe(forecaster, Of(1), 3000);
    ASSERT_LE(forecaster.cells(), 64U);
  }
  EXPECT_NEAR(forecaster.CurveFor(Of(1))->Quantile(0.5), 3000, 300) << "used again and again: kept";
  EXPECT_LT(forecaster.CurveFor(Of(2))->Quantile(0.5), 100) << "forgotten: the model's curve";
}

TEST(OutputForecaster, AFloodOfFreshTenantsEvictsNoneThatIsKnown) {
  OutputForecaster forecaster(64);
  for (uint64_t tenant = 1; tenant <= 20; ++tenant) {
    for (int i = 0; i < 30; ++i) Observe(forecaster, Of(tenant), 3000);
  }
  for (uint64_t tenant = 100; tenant < 2000; ++tenant) Observe(forecaster, Of(tenant), 20);
  for (uint64_t tenant = 1; tenant <= 20; ++tenant) {
    EXPECT_NEAR(forecaster.CurveFor(Of(tenant))->Quantile(0.5), 3000, 300) << tenant;
  }
  EXPECT_LE(forecaster.cells(), 64U);
}

TEST(OutputForecaster, AnEvictedTenantStartsAgain) {
  OutputForecaster forecaster(2);
  for (int i = 0; i < 50; ++i) Observe(forecaster, Of(1), 3000);
  const auto held = forecaster.CurveFor(Of(1));
  for (int i = 0; i < 500; ++i) Observe(forecaster, Of(2), 20);
  Observe(forecaster, Of(1), 20);
  EXPECT_LT(forecaster.CurveFor(Of(1))->Quantile(0.5), 200);
  EXPECT_NEAR(held->Quantile(0.5), 3000, 300);
}

TEST(OutputForecaster, EqualCallsGiveEqualCurves) {
  OutputForecaster a(32);
  OutputForecaster b(32);
  std::mt19937 random(27);
  for (int i = 0; i < 5000; ++i) {
    const Key key = Of(random() % 40, static_cast<int64_t>(random() % 5000), random() % 2 == 0);
    const int64_t length = LogNormal(random, 100, 1);
    Observe(a, key, length);
    Observe(b, key, length);
    ASSERT_EQ(a.CurveFor(key)->At(100), b.CurveFor(key)->At(100)) << "seed 27, step " << i;
  }
}

// Largest distance between the empirical distribution of the values and the uniform one.
double Deviation(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(values.size());
    worst = std::max(worst, std::abs(share - values[i]));
  }
  return worst;
}

double ShareBelow(const std::vector<double>& values, double bound) {
  const auto below = std::count_if(values.begin(), values.end(), [&](double value) { return value <= bound; });
  return static_cast<double>(below) / static_cast<double>(values.size());
}

// The place of a length in its forecast: uniform when the forecast is right.
double RandomisedPit(const SurvivalCurve& curve, int64_t length, std::mt19937& random) {
  const double below = 1 - curve.At(static_cast<double>(length - 1));
  const double upto = 1 - curve.At(static_cast<double>(length));
  return below + (upto - below) * std::uniform_real_distribution<double>(0, 1)(random);
}

TEST(OutputForecaster, IsCalibratedOnASyntheticMixture) {
  OutputForecaster forecaster;
  std::mt19937 random(28);
  std::vector<double> pits;
  for (int i = 0; i < 11'000; ++i) {
    const uint64_t tenant = random() % 5;
    const Key key = Of(tenant, 1 << (random() % 12));
    const int64_t length = LogNormal(random, 20.0 * std::exp2(static_cast<double>(tenant)), 1.0);
    if (i >= 1000) pits.push_back(RandomisedPit(*forecaster.CurveFor(key), length, random));
    Observe(forecaster, key, length);
  }
  for (const size_t start : {size_t{0}, size_t{5000}}) {
    const std::vector<double> window(pits.begin() + static_cast<std::ptrdiff_t>(start),
                                     pits.begin() + static_cast<std::ptrdiff_t>(start + 5000));
    EXPECT_LT(Deviation(window), 0.03) << "seed 28, window from " << start;
    EXPECT_NEAR(ShareBelow(window, 0.99), 0.99, 0.005) << "seed 28, window from " << start;
  }
}

struct Row {
  int64_t prompt = 0;
  int64_t output = 0;
};

// Prompt and output tokens of a trace: arrival_s,model,tenant,prompt_tokens,output_tokens.
std::vector<Row> ReadTrace(const std::string& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t last = line.rfind(',');
    const size_t before = line.rfind(',', last - 1);
    rows.push_back({std::stoll(line.substr(before + 1)), std::stoll(line.substr(last + 1))});
  }
  return rows;
}

TEST(OutputForecaster, IsCalibratedOnRecordedChatTraffic) {
  const std::vector<Row> rows = ReadTrace(SourcePath("../shared/traces/azure23_conv_a.csv"));
  if (rows.empty()) GTEST_SKIP() << "the recorded trace azure23_conv_a.csv is not beside the repository";
  OutputForecaster forecaster;
  std::mt19937 random(29);
  std::vector<double> pits;
  for (const Row& row : rows) {
    const Key key = Of(1, row.prompt);
    pits.push_back(RandomisedPit(*forecaster.CurveFor(key), row.output, random));
    Observe(forecaster, key, row.output);
  }
  constexpr size_t kWindow = 5000;
  constexpr size_t kWarmup = 1000;
  ASSERT_GE(pits.size(), kWarmup + kWindow);
  for (size_t start = kWarmup; start + kWindow <= pits.size(); start += 500) {
    const std::vector<double> window(pits.begin() + static_cast<std::ptrdiff_t>(start),
                                     pits.begin() + static_cast<std::ptrdiff_t>(start + kWindow));
    EXPECT_LT(Deviation(window), 0.03) << "seed 29, window from " << start;
    EXPECT_NEAR(ShareBelow(window, 0.99), 0.99, 0.005) << "seed 29, window from " << start;
  }
}

}  // namespace
}  // namespace penstock
