// The level of an engine's sleep, as the orders and the engine tell it.
#include "backends/engines/verbs/sleep_targets.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

SleepTargets TargetsOf(int level) {
  SleepTargets targets;
  targets.SetEngine({"m", level, "/w"});
  return targets;
}

TEST(SleepTargets, ASleepIsAtTheOrderedLevelAndItsWakeByTheSame) {
  SleepTargets targets = TargetsOf(1);
  targets.Order(SleepLevel::kDisk);
  EXPECT_EQ(targets.Sleep().level, 2);
  EXPECT_EQ(targets.known(), SleepLevel::kDisk);
  EXPECT_EQ(targets.Wake().level, 2);
  EXPECT_EQ(targets.Wake().weights, "/w");
  targets.Awake();
  targets.Order(SleepLevel::kHost);
  EXPECT_EQ(targets.Sleep().level, 1);
  EXPECT_EQ(targets.Wake().level, 1);
}

TEST(SleepTargets, AnOrderWithoutALevelIsAtThatOfTheConfiguration) {
  for (const int level : {1, 2}) {
    SleepTargets targets = TargetsOf(level);
    targets.Order(SleepLevel::kUnsaid);
    EXPECT_EQ(targets.Sleep().level, level);
    EXPECT_EQ(targets.Wake().level, level);
  }
}

TEST(SleepTargets, ASleepThatNobodyOrderedIsByTheWordOfTheEngine) {
  SleepTargets targets = TargetsOf(2);
  EXPECT_EQ(targets.known(), SleepLevel::kUnsaid);
  EXPECT_EQ(targets.Wake().level, 2) << "nobody knows";
  targets.Report(SleepLevel::kHost);
  EXPECT_EQ(targets.known(), SleepLevel::kHost);
  EXPECT_EQ(targets.Wake().level, 1);
}

TEST(SleepTargets, TheDeepestLevelThatSpeaksForASleepCounts) {
  SleepTargets targets = TargetsOf(1);
  targets.Order(SleepLevel::kDisk);
  targets.Sleep();
  targets.Report(SleepLevel::kHost);
  EXPECT_EQ(targets.Wake().level, 2) << "the engine lies, or its metrics are old";
  targets.Awake();
  targets.Order(SleepLevel::kHost);
  targets.Sleep();
  targets.Report(SleepLevel::kDisk);
  EXPECT_EQ(targets.Wake().level, 2) << "somebody put it deeper to sleep";
}

}  // namespace
}  // namespace penstock
