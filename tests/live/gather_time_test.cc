// The wait of a call that gathers requests.
#include "router/live/merge/gather_time.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kOpened = Instant::FromSeconds(100);

TEST(GatherTime, AGapEndsTheWaitAndEachFurtherRequestBeginsANewOne) {
  const GatherTime time(kOpened);
  EXPECT_EQ(time.Left(kOpened), GatherTime::kMostGap);
  EXPECT_EQ(time.Left(kOpened + GatherTime::kMostGap), GatherTime::kMostGap);
}

TEST(GatherTime, NobodyWaitsBeyondTheBound) {
  const GatherTime time(kOpened);
  const Duration rest = Duration::Microseconds(100);
  EXPECT_EQ(time.Left(kOpened + GatherTime::kMostWait - rest), rest);
  EXPECT_EQ(time.Left(kOpened + GatherTime::kMostWait), Duration());
  EXPECT_EQ(time.Left(kOpened + GatherTime::kMostWait * 2), Duration());
}

}  // namespace
}  // namespace penstock
