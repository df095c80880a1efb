// The choice among the levels of output curves: by the score of what they said before.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "kvmodel/output/output_forecast.h"

namespace penstock {
namespace {

using Key = OutputForecaster::Key;

constexpr ModelId kServed(1);

Key KeyOf(uint64_t tenant, uint64_t shape, int64_t prompt = 500, int64_t limit = 0) {
  return {kServed, TenantId(tenant), Tokens(prompt), Tokens(limit), shape};
}

// The squared errors of a curve about one length, on quarters of an octave: 0 is exact.
double MissOf(const SurvivalCurve& curve, int64_t length) {
  double miss = 0;
  for (double edge = 1; edge < 100'000; edge *= std::exp2(0.25)) {
    const double error = curve.At(edge) - (static_cast<double>(length) > edge ? 1 : 0);
    miss += error * error;
  }
  return miss;
}

// A request that arrives, runs and ends.
void Serve(OutputForecaster& forecaster, const Key& key, int64_t length) {
  const OutputForecaster::Reading reading = forecaster.Read(key);
  forecaster.Advance(key, Tokens(0), Tokens(length));
  forecaster.Finish(key, Tokens(length));
  if (reading.trial != nullptr) forecaster.Judge(key, *reading.trial, Tokens(length), false);
}

int64_t Drawn(std::mt19937& random, double median) {
  return std::max<int64_t>(1, std::llround(std::lognormal_distribution<double>(std::log(median), 0.3)(random)));
}

TEST(OutputLevels, TheShapeIsReadWhereItTellsTheLength) {
  OutputForecaster forecaster;
  std::mt19937 random(31);
  for (int i = 0; i < 1000; ++i) {
    // Every tenant uses the same two programs.
    const uint64_t tenant = random() % 20;
    const bool brief = random() % 2 == 0;
    Serve(forecaster, KeyOf(tenant, brief ? 7 : 8), Drawn(random, brief ? 20 : 1500));
  }
  EXPECT_GE(forecaster.LevelOf(KeyOf(1, 7)), OutputLevel::kShape);
  EXPECT_NEAR(forecaster.CurveFor(KeyOf(1, 7))->Quantile(0.5), 20, 4);
  EXPECT_NEAR(forecaster.CurveFor(KeyOf(1, 8))->Quantile(0.5), 1500, 250);
  // A tenant that has never asked knows the programs too.
  EXPECT_NEAR(forecaster.CurveFor(KeyOf(999, 8))->Quantile(0.5), 1500, 250);
}

TEST(OutputLevels, ARequestWithoutAShapeReadsItsTenant) {
  OutputForecaster forecaster;
  std::mt19937 random(32);
  for (int i = 0; i < 600; ++i) {
    const bool brief = random() % 2 == 0;
    Serve(forecaster, KeyOf(1, brief ? 7 : 8), Drawn(random, brief ? 20 : 1500));
    Serve(forecaster, KeyOf(2, 0), Drawn(random, 200));
  }
  EXPECT_NEAR(forecaster.CurveFor(KeyOf(2, 0))->Quantile(0.5), 200, 40);
}

TEST(OutputLevels, AFineLevelThatKnowsNothingMoreIsLeft) {
  OutputForecaster forecaster;
  std::mt19937 random(33);
  // 400 tenants with some requests each, all alike, of many prompt lengths.
  for (int i = 0; i < 4000; ++i) {
    Serve(forecaster, KeyOf(random() % 400, 0, int64_t{1} << (random() % 14)), Drawn(random, 300));
  }
  EXPECT_EQ(forecaster.LevelOf(KeyOf(5, 0)), OutputLevel::kModel);
}

TEST(OutputLevels, PromptLengthsAreReadWhereTheyTellTheLength) {
  OutputForecaster forecaster;
  std::mt19937 random(34);
  for (int i = 0; i < 1000; ++i) {
    const bool brief = random() % 2 == 0;
    Serve(forecaster, KeyOf(1, 0, brief ? 100 : 10'000), Drawn(random, brief ? 20 : 1500));
  }
  EXPECT_EQ(forecaster.LevelOf(KeyOf(1, 0)), OutputLevel::kTenantDetail);
}

TEST(OutputLevels, TheChoiceIsNeverMuchWorseThanTheTenantsCurve) {
  // Kinds of traffic by what tells the length: nothing, the tenant, the prompt, the shape, the shape and the limit.
  for (uint64_t kind = 0; kind < 5; ++kind) {
    OutputForecaster forecaster;
    std::mt19937 random(static_cast<uint32_t>(35 + kind));
    double read = 0;
    std::array<double, kOutputLevels> levels{};
    constexpr int kRequests = 4000;
    for (int i = 0; i < kRequests; ++i) {
      const Key key =
          KeyOf(random() % 50, 1 + random() % 30, int64_t{1} << (6 + random() % 6), int64_t{1} << (10 + random() % 3));
      const std::array<uint64_t, 5> teller = {0, key.tenant.value(), static_cast<uint64_t>(key.prompt.value() / 64),
                                              key.shape, key.shape + static_cast<uint64_t>(key.limit.value() / 1024)};
      const int64_t length = Drawn(random, 30 * std::exp2(static_cast<double>(teller[kind] % 6)));
      const OutputForecaster::Reading reading = forecaster.Read(key);
      if (reading.trial != nullptr) {
        read += MissOf(*reading.curve, length);
        for (size_t level = 0; level < kOutputLevels; ++level)
          levels[level] += MissOf(*(*reading.trial)[level], length);
        forecaster.Judge(key, *reading.trial, Tokens(length), false);
      }
      forecaster.Advance(key, Tokens(0), Tokens(length));
      forecaster.Finish(key, Tokens(length));
    }
    const double best = *std::min_element(levels.begin(), levels.end());
    EXPECT_LT(read, 1.05 * best) << "kind " << kind;
    EXPECT_LT(read, 1.03 * levels[static_cast<size_t>(OutputLevel::kTenant)]) << "kind " << kind;
  }
}

TEST(OutputLevels, ACutOutputCountsAsAtLeastItsLength) {
  OutputForecaster forecaster;
  std::mt19937 random(36);
  // Both programs state a limit of 100; one would go on to 1500.
  for (int i = 0; i < 600; ++i) {
    const bool brief = random() % 2 == 0;
    const Key key = KeyOf(1, brief ? 7 : 8, 500, 100);
    const int64_t length = Drawn(random, brief ? 20 : 1500);
    const OutputForecaster::Reading reading = forecaster.Read(key);
    const Tokens made(std::min<int64_t>(length, 100));
    forecaster.Advance(key, Tokens(0), made);
    if (length <= 100) forecaster.Finish(key, made);
    if (reading.trial != nullptr) forecaster.Judge(key, *reading.trial, made, length > 100);
  }
  EXPECT_GE(forecaster.LevelOf(KeyOf(1, 8, 500, 100)), OutputLevel::kShape);
  EXPECT_GT(forecaster.CurveFor(KeyOf(1, 8, 500, 100))->At(99), 0.9);
}

TEST(OutputLevels, AFloodOfFreshShapesEvictsNoneThatIsKnown) {
  OutputForecaster forecaster(64);
  std::mt19937 random(37);
  for (int i = 0; i < 400; ++i) {
    for (const uint64_t shape : {7U, 8U}) Serve(forecaster, KeyOf(1, shape), Drawn(random, shape == 7 ? 20 : 1500));
  }
  for (uint64_t shape = 100; shape < 3000; ++shape) {
    forecaster.Advance(KeyOf(2, shape), Tokens(0), Tokens(50));
    forecaster.Finish(KeyOf(2, shape), Tokens(50));
  }
  EXPECT_NEAR(forecaster.CurveFor(KeyOf(1, 8))->Quantile(0.5), 1500, 250);
  EXPECT_LE(forecaster.cells(), 128U);
}

}  // namespace
}  // namespace penstock
