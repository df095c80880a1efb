#include "router/core/learning/wake_time.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(WakeTime, IsTheConfiguredTimeUntilAWakeWasMeasured) {
  WakeTime wake(Duration::Seconds(2));
  EXPECT_EQ(wake.expected(), Duration::Seconds(2));
  wake.Configure(Duration::Seconds(3));
  EXPECT_EQ(wake.expected(), Duration::Seconds(3));
  wake.Observe(Duration::Seconds(1));
  wake.Configure(Duration::Seconds(3));
  EXPECT_EQ(wake.expected(), Duration::Seconds(1));
}

TEST(WakeTime, MostWakesEndWithinIt) {
  WakeTime wake(Duration::Seconds(2));
  for (int i = 0; i < 100; ++i) wake.Observe(Duration::Seconds(i % 2 == 0 ? 1 : 3));
  EXPECT_GT(wake.expected(), Duration::Seconds(2.5));
  EXPECT_LT(wake.expected(), Duration::Seconds(3.5));
}

TEST(WakeTime, FollowsAChangeWithinAFewWakes) {
  WakeTime wake(Duration::Seconds(1));
  for (int i = 0; i < 10; ++i) wake.Observe(Duration::Seconds(1));
  for (int i = 0; i < 12; ++i) wake.Observe(Duration::Seconds(20));
  EXPECT_GT(wake.expected(), Duration::Seconds(18));
}

TEST(WakeTime, PatienceIsAMultipleOfItAndNeverShort) {
  EXPECT_EQ(WakeTime(Duration::Seconds(300)).patience(), Duration::Seconds(1500));
  EXPECT_EQ(WakeTime(Duration::Milliseconds(300)).patience(), Duration::Seconds(900));
}

}  // namespace
}  // namespace penstock
