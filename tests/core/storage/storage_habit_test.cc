#include "router/core/storage/storage_habit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::testing {
namespace {

void ObserveTimes(StorageHabit& habit, int times, double late, double pressure) {
  for (int i = 0; i < times; ++i) habit.Observe(late, pressure);
}

TEST(StorageHabitTest, FirstTokensThatComeLateUnderPressureShowANeed) {
  StorageHabit habit;
  ObserveTimes(habit, 8, 0.01, 0);
  ObserveTimes(habit, 7, 0.5, 0.8);
  EXPECT_FALSE(habit.needs()) << "too few";
  ObserveTimes(habit, 1, 0.5, 0.8);
  EXPECT_TRUE(habit.needs());
}

TEST(StorageHabitTest, FirstTokensThatAreAlwaysLateShowNone) {
  StorageHabit habit;
  ObserveTimes(habit, 16, 0.5, 0);
  ObserveTimes(habit, 16, 0.5, 0.8);
  EXPECT_FALSE(habit.needs());
}

TEST(StorageHabitTest, AFewLateOnesShowNone) {
  StorageHabit habit;
  ObserveTimes(habit, 16, 0.01, 0);
  ObserveTimes(habit, 4, 2, 0.8);
  ObserveTimes(habit, 12, 0.01, 0.8);
  EXPECT_FALSE(habit.needs());
}

TEST(StorageHabitTest, TheNeedPassesWithTheLateness) {
  StorageHabit habit;
  ObserveTimes(habit, 8, 0, 0);
  ObserveTimes(habit, 16, 0.5, 0.9);
  ASSERT_TRUE(habit.needs());
  ObserveTimes(habit, 16, 0.01, 0.9);
  EXPECT_FALSE(habit.needs());
}

TEST(StorageHabitTest, WhatIsNoNumberTeachesNothing) {
  StorageHabit habit;
  ObserveTimes(habit, 16, 0, 0);
  ObserveTimes(habit, 16, std::nan(""), 0.9);
  EXPECT_FALSE(habit.needs());
}

}  // namespace
}  // namespace penstock::testing
