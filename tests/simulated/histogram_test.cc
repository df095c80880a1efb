#include "backends/simulated/engine/histogram.h"

#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

TEST(Histogram, AValueOnABoundBelongsToThatBucketAndLargerOnesToTheLast) {
  Histogram histogram({1, 2, 5});
  for (const double value : {0.5, 1.0, 1.5, 5.0, 5.1, 1e9}) histogram.Add(value);
  EXPECT_EQ(histogram.counts(), (std::vector<int64_t>{2, 1, 1, 2}));
}

TEST(Histogram, TheSumIsOfAllValues) {
  Histogram histogram({1});
  histogram.Add(0.25);
  histogram.Add(4);
  EXPECT_EQ(histogram.sum(), 4.25);
}

}  // namespace
}  // namespace penstock::simulated
