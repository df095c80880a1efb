#include "base/turn_meter.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr Instant At(double seconds) { return Instant::FromSeconds(seconds); }

TEST(TurnMeter, KeepsTheLongestTurnOfTheLastTwoWindows) {
  TurnMeter meter;
  EXPECT_EQ(meter.Longest(At(0)), Duration());
  meter.Record(At(40), At(40.5));
  meter.Record(At(41), At(41.2));
  EXPECT_EQ(meter.Longest(At(42)), Duration::Milliseconds(500));
  meter.Record(At(61), At(61.1));
  EXPECT_EQ(meter.Longest(At(89)), Duration::Milliseconds(500)) << "the window before still counts";
  EXPECT_EQ(meter.Longest(At(91)), Duration::Milliseconds(100));
  meter.Record(At(100), At(100.05));
  EXPECT_EQ(meter.Longest(At(121)), Duration::Milliseconds(50)) << "the place of an old window is used again";
  EXPECT_EQ(meter.Longest(At(1000)), Duration());
}

TEST(TurnMeter, CountsTurnsOfMoreThanAMillisecond) {
  TurnMeter meter;
  meter.Record(At(1), At(1) + TurnMeter::kLong);
  EXPECT_EQ(meter.long_turns(), 0);
  meter.Record(At(1), At(1) + TurnMeter::kLong + Duration::Nanoseconds(1));
  EXPECT_EQ(meter.long_turns(), 1);
}

}  // namespace
}  // namespace penstock
