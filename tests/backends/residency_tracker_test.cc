#include "backends/health/residency_tracker.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Finding = ResidencyTracker::Finding;

Instant Then(double seconds) { return Instant() + Duration::Seconds(seconds); }

TEST(ResidencyTracker, TheFirstPageCountsAtOnce) {
  ResidencyTracker awake;
  EXPECT_EQ(awake.Saw(false, Then(1)), Finding::kNothing);
  ResidencyTracker asleep;
  EXPECT_EQ(asleep.Saw(true, Then(1)), Finding::kChanged);
  EXPECT_EQ(asleep.residency(), Residency::kAsleep);
}

TEST(ResidencyTracker, OrdersEndWhereTheyLeadOrWhereTheyBegan) {
  ResidencyTracker tracker;
  tracker.Begin(false, Then(1));
  EXPECT_EQ(tracker.residency(), Residency::kFallingAsleep);
  EXPECT_TRUE(tracker.busy());
  EXPECT_EQ(tracker.End(true, Then(3)), Duration::Seconds(2));
  EXPECT_EQ(tracker.residency(), Residency::kAsleep);
  tracker.Begin(true, Then(4));
  tracker.End(false, Then(5));
  EXPECT_EQ(tracker.residency(), Residency::kAsleep);
  tracker.Begin(true, Then(6));
  tracker.End(true, Then(7));
  EXPECT_EQ(tracker.residency(), Residency::kAwake);
  tracker.Begin(false, Then(8));
  tracker.End(false, Then(9));
  EXPECT_EQ(tracker.residency(), Residency::kAwake);
}

TEST(ResidencyTracker, APageFromBeforeAnEndSaysNothing) {
  ResidencyTracker tracker;
  tracker.Begin(false, Then(1));
  EXPECT_EQ(tracker.Saw(false, Then(2)), Finding::kNothing) << "while the order is under way";
  tracker.End(true, Then(3));
  EXPECT_EQ(tracker.Saw(false, Then(2.5)), Finding::kNothing);
  EXPECT_FALSE(tracker.in_doubt());
}

TEST(ResidencyTracker, AnEngineThatSomebodyElsePutToSleepIsSeenAtTheSecondLook) {
  ResidencyTracker tracker;
  tracker.Saw(false, Then(1));
  EXPECT_EQ(tracker.Saw(true, Then(2)), Finding::kNothing);
  EXPECT_TRUE(tracker.in_doubt());
  EXPECT_EQ(tracker.Saw(true, Then(3)), Finding::kChanged);
  EXPECT_EQ(tracker.residency(), Residency::kAsleep);
  EXPECT_EQ(tracker.Saw(false, Then(4)), Finding::kNothing);
  EXPECT_EQ(tracker.Saw(true, Then(5)), Finding::kNothing) << "the doubt is over";
  EXPECT_EQ(tracker.Saw(false, Then(6)), Finding::kNothing);
  EXPECT_EQ(tracker.Saw(false, Then(7)), Finding::kChanged);
}

TEST(ResidencyTracker, AnEngineThatSaysItSleepsAndAnswersIsAwake) {
  ResidencyTracker tracker;
  tracker.Saw(false, Then(1));
  tracker.Saw(true, Then(2));
  tracker.OnToken(Then(2.1));
  EXPECT_EQ(tracker.Saw(true, Then(3)), Finding::kLies);
  for (int i = 4; i < 8; ++i) EXPECT_EQ(tracker.Saw(true, Then(i)), Finding::kNothing) << "found once";
  EXPECT_EQ(tracker.residency(), Residency::kAwake);
  EXPECT_EQ(tracker.Saw(false, Then(8)), Finding::kNothing);
  tracker.Saw(true, Then(9));
  EXPECT_EQ(tracker.Saw(true, Then(10)), Finding::kChanged) << "its page is believed again";
}

TEST(ResidencyTracker, ATokenFromBeforeTheDoubtProvesNothing) {
  ResidencyTracker tracker;
  tracker.Saw(false, Then(1));
  tracker.OnToken(Then(1.9));
  tracker.Saw(true, Then(2));
  EXPECT_EQ(tracker.Saw(true, Then(3)), Finding::kChanged);
}

TEST(ResidencyTracker, ANewProcessIsBelievedAtOnce) {
  ResidencyTracker tracker;
  tracker.Saw(true, Then(1));
  tracker.Forget();
  EXPECT_EQ(tracker.Saw(false, Then(2)), Finding::kChanged);
  EXPECT_EQ(tracker.residency(), Residency::kAwake);
}

TEST(ResidencyTracker, ADistrustedPageIsNotBelieved) {
  ResidencyTracker tracker;
  tracker.Set(Residency::kAsleep, Then(1));
  tracker.Begin(true, Then(2));
  tracker.End(true, Then(3));
  tracker.Distrust();
  for (int i = 4; i < 8; ++i) EXPECT_EQ(tracker.Saw(true, Then(i)), Finding::kNothing);
  EXPECT_EQ(tracker.residency(), Residency::kAwake);
}

TEST(ResidencyTracker, DistrustLastsUntilThePageSaysAwakeOrTheProcessIsNew) {
  ResidencyTracker tracker;
  tracker.Saw(true, Then(1));
  EXPECT_FALSE(tracker.distrusted());
  tracker.Begin(true, Then(2));
  tracker.End(true, Then(3));
  tracker.Distrust();
  for (int i = 4; i < 8; ++i) tracker.Saw(true, Then(i));
  tracker.OnToken(Then(8));
  EXPECT_TRUE(tracker.distrusted());
  tracker.Saw(false, Then(9));
  EXPECT_FALSE(tracker.distrusted());
  tracker.Distrust();
  tracker.Forget();
  EXPECT_FALSE(tracker.distrusted());
}

TEST(ResidencyTracker, AFailedWakeThatHoldsMemoryIsToBePutBack) {
  ResidencyTracker tracker;
  tracker.Set(Residency::kAsleep, Then(1));
  tracker.Begin(true, Then(2));
  tracker.End(false, Then(3), true);
  EXPECT_EQ(tracker.residency(), Residency::kAsleep);
  EXPECT_TRUE(tracker.holds());
  EXPECT_EQ(tracker.Saw(true, Then(4)), Finding::kNothing);
  EXPECT_FALSE(tracker.Set(Residency::kAsleep, Then(4)));
  EXPECT_TRUE(tracker.holds()) << "that it sleeps is no proof";
  for (const bool ends : {false, true}) {
    tracker.Begin(false, Then(5));
    EXPECT_TRUE(tracker.undoing());
    tracker.End(ends, Then(6));
    EXPECT_EQ(tracker.residency(), Residency::kAsleep);
    EXPECT_EQ(tracker.holds(), !ends);
  }
}

TEST(ResidencyTracker, WhatAwokeLateOrEndedHoldsNothingInDoubt) {
  ResidencyTracker tracker;
  tracker.Set(Residency::kAsleep, Then(1));
  tracker.Begin(true, Then(2));
  tracker.End(false, Then(3), true);
  ResidencyTracker ended = tracker;
  tracker.Saw(false, Then(4));
  EXPECT_EQ(tracker.Saw(false, Then(5)), Finding::kChanged);
  EXPECT_FALSE(tracker.holds());
  EXPECT_TRUE(ended.Gone(Then(4)));
  EXPECT_FALSE(ended.holds());
  EXPECT_FALSE(ended.Gone(Then(5))) << "told once";
}

TEST(ResidencyTracker, WhoKnowsBetterIsBelieved) {
  ResidencyTracker tracker;
  EXPECT_TRUE(tracker.Set(Residency::kAsleep, Then(1)));
  EXPECT_FALSE(tracker.Set(Residency::kAsleep, Then(2)));
}

}  // namespace
}  // namespace penstock
