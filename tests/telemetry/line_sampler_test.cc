#include "router/telemetry/log/line_sampler.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(LineSampler, AFewLinesPassInEachSecond) {
  LineSampler sampler;
  for (const double second : {1.0, 2.0, 7.5}) {
    int passed = 0;
    for (int i = 0; i < 100; ++i) passed += sampler.Take(Instant::FromSeconds(second + 0.001 * i)) ? 1 : 0;
    EXPECT_EQ(passed, LineSampler::kLinesPerSecond) << second;
  }
}

TEST(LineSampler, TheNextLineKnowsHowManyWereLeftOut) {
  LineSampler sampler;
  for (int i = 0; i < LineSampler::kLinesPerSecond; ++i) EXPECT_EQ(sampler.Take(Instant::FromSeconds(1)), 0);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(sampler.Take(Instant::FromSeconds(1)), std::nullopt);
  EXPECT_EQ(sampler.Take(Instant::FromSeconds(2)), 7);
  EXPECT_EQ(sampler.Take(Instant::FromSeconds(2)), 0);
}

}  // namespace
}  // namespace penstock
