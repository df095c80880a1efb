#include "router/telemetry/log/line_sampler.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(LineSampler, AFewLinesPassInEachSecond) {
  LineSampler sampler;
  for (const double second : {1.0, 2.0, 7.5}) {
    int passed = 0;
    for (int i = 0; i < 100; ++i) passed += sampler.Allow(Instant::FromSeconds(second + 0.001 * i)) ? 1 : 0;
    EXPECT_EQ(passed, LineSampler::kLinesPerSecond) << second;
  }
}

}  // namespace
}  // namespace penstock
