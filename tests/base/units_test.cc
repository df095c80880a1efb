#include "base/units.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(DurationTimes, AProductWithinTheRangeIsExact) {
  EXPECT_EQ(Duration::Milliseconds(50) * 3, Duration::Milliseconds(150));
  EXPECT_EQ(Duration::Milliseconds(50) * -3, -Duration::Milliseconds(150));
  EXPECT_EQ(Duration::Infinite() * 1, Duration::Infinite());
  EXPECT_EQ(Duration::Infinite() * 0, Duration());
}

TEST(DurationTimes, AProductOutOfRangeIsInfinite) {
  // The largest TPOT goal of a configuration.
  const Duration month = Duration::Seconds(30 * 86'400.0);
  for (const int64_t tokens : {int64_t{4'000}, int64_t{8'000}, int64_t{1'000'000}, int64_t{1'000'000'000'000}}) {
    EXPECT_EQ(month * tokens, Duration::Infinite()) << tokens;
    EXPECT_EQ(-month * tokens, -Duration::Infinite()) << tokens;
    EXPECT_EQ(month * -tokens, -Duration::Infinite()) << tokens;
    EXPECT_EQ(-month * -tokens, Duration::Infinite()) << tokens;
  }
  EXPECT_EQ(Duration::Infinite() * 2, Duration::Infinite());
}

TEST(DurationTimes, AnInstantAfterAnInfiniteProductIsInOrder) {
  const Instant arrival = Instant::FromSeconds(1e6);
  const Instant due = arrival + Duration::Seconds(30 * 86'400.0) + Duration::Seconds(30 * 86'400.0) * 1'000'000;
  EXPECT_GT(due, arrival);
  EXPECT_LT(due, Instant::Never());
}

}  // namespace
}  // namespace penstock
