#include "app/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using ::testing::EndsWith;

TEST(ProgressText, EstimatesTheRestFromTheTimeSoFar) {
  EXPECT_EQ(ProgressText(Duration::Seconds(10), 0.25), "[#####...............] 25 %, about 30 s left");
  EXPECT_THAT(ProgressText(Duration::Seconds(60), 0.1), EndsWith("about 9 min left"));
  EXPECT_THAT(ProgressText(Duration::Seconds(3600), 0.25), EndsWith("about 3.0 h left"));
}

TEST(ProgressText, HasNoEstimateAtTheStartAndAtTheEnd) {
  EXPECT_EQ(ProgressText(Duration::Seconds(10), 0), "[....................] 0 %");
  EXPECT_EQ(ProgressText(Duration::Seconds(10), 1.2), "[####################] 100 %");
}

}  // namespace
}  // namespace penstock
