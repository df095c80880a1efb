#include "bench/simulation/search/median_interval.h"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::bench {
namespace {

MedianInterval OfFirst(int count) {
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.rbegin(), values.rend(), 1);
  return MedianIntervalOf(values);
}

TEST(MedianInterval, OfOneValueIsThatValue) {
  const MedianInterval interval = OfFirst(1);
  EXPECT_EQ(interval.median, 1);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 1);
}

TEST(MedianInterval, OfFiveReachesFromTheLeastToTheGreatest) {
  // 1 - 2/32 = 94 %; without the ends 1 - 12/32 = 63 %.
  const MedianInterval interval = OfFirst(5);
  EXPECT_EQ(interval.median, 3);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 5);
}

TEST(MedianInterval, LeavesOutEndsWhereThereAreMany) {
  // With 8 values, the second and the seventh enclose the median with 1 - 18/256 = 93 %, the third and sixth with 71 %.
  const MedianInterval interval = OfFirst(8);
  EXPECT_EQ(interval.median, 4);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 7);
}

}  // namespace
}  // namespace penstock::bench
