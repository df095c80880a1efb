// The times of wakes, for each level of sleep.
#include "router/core/residency/wake_times.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

WakeTimes TimesOf(bool may_drop) {
  WakeTimes times;
  times.Configure({Duration::Seconds(30), Duration::Seconds(2), Bytes(8), may_drop, Duration::Seconds(20)});
  return times;
}

TEST(WakeTimes, EachLevelHasAndLearnsItsOwn) {
  WakeTimes times = TimesOf(true);
  EXPECT_EQ(times.From(SleepLevel::kHost).expected(), Duration::Seconds(2));
  EXPECT_EQ(times.From(SleepLevel::kDisk).expected(), Duration::Seconds(20));
  times.Sleep(SleepLevel::kDisk);
  EXPECT_EQ(times.present().expected(), Duration::Seconds(20));
  times.Observe(Duration::Seconds(30));
  EXPECT_EQ(times.present().expected(), Duration::Seconds(30));
  times.Sleep(SleepLevel::kHost);
  EXPECT_EQ(times.present().expected(), Duration::Seconds(2));
  times.Observe(Duration::Seconds(1));
  EXPECT_EQ(times.From(SleepLevel::kHost).expected(), Duration::Seconds(1));
  EXPECT_EQ(times.From(SleepLevel::kDisk).expected(), Duration::Seconds(30));
}

TEST(WakeTimes, ALevelThatNobodyKnowsCountsAsTheDeeperOne) {
  EXPECT_EQ(TimesOf(true).From(SleepLevel::kUnsaid).expected(), Duration::Seconds(20));
}

TEST(WakeTimes, AReplicaThatDropsNothingHasOneTime) {
  WakeTimes times = TimesOf(false);
  for (const SleepLevel level : {SleepLevel::kUnsaid, SleepLevel::kHost, SleepLevel::kDisk}) {
    EXPECT_EQ(times.From(level).expected(), Duration::Seconds(2));
  }
}

TEST(WakeTimes, DroppingIsNeverTheQuickerWay) {
  WakeTimes times;
  times.Configure({Duration::Seconds(30), Duration::Seconds(5), Bytes(8), true, Duration()});
  EXPECT_EQ(times.From(SleepLevel::kDisk).expected(), Duration::Seconds(5));
}

}  // namespace
}  // namespace penstock
