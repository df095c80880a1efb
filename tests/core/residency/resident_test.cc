#include "router/core/residency/resident.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr ReplicaId kReplica(0);

class ResidentTest : public ::testing::Test {
 protected:
  ResidentTest() { presence_.wake = resident_.wake().expected(); }

  void Told(Residency residency, bool failed = false, double took = 0) {
    resident_.Told(presence_, {kReplica, residency, failed, Duration::Seconds(took)}, now_);
  }
  void Wait(double seconds) { now_ = now_ + Duration::Seconds(seconds); }

  Resident resident_{0, {Duration::Seconds(30), Duration::Seconds(2)}};
  Presence presence_;
  Instant now_ = Instant::FromSeconds(100);
};

TEST_F(ResidentTest, GoesFromAwakeToAsleepAndBack) {
  presence_.leaving = true;
  EXPECT_FALSE(presence_.Takes());
  resident_.OrderSleep(presence_, SleepLevel::kUnsaid, now_);
  EXPECT_EQ(presence_.residency, Residency::kFallingAsleep);
  EXPECT_FALSE(presence_.leaving);
  Told(Residency::kAsleep, false, 1);
  EXPECT_EQ(presence_.residency, Residency::kAsleep);
  EXPECT_TRUE(presence_.CountsAsUp(Health::kUp)) << "it can be woken";
  EXPECT_FALSE(presence_.CountsAsUp(Health::kDown)) << "its engine ended while it slept";
  presence_.wanted = true;
  resident_.OrderWake(presence_, now_);
  EXPECT_EQ(presence_.residency, Residency::kWaking);
  EXPECT_FALSE(presence_.wanted);
  EXPECT_EQ(presence_.SecondsAway(now_), 2);
  Told(Residency::kAwake, false, 1.5);
  EXPECT_TRUE(presence_.Takes());
  EXPECT_EQ(presence_.wake, Duration::Seconds(1.5)) << "the measured time";
  EXPECT_FALSE(presence_.CountsAsUp(Health::kDown));
  EXPECT_EQ(resident_.counts().sleeps, 1);
  EXPECT_EQ(resident_.counts().wakes, 1);
}

TEST_F(ResidentTest, AfterAWakeItMayStayForAMultipleOfItsTime) {
  Told(Residency::kAsleep);
  resident_.OrderWake(presence_, now_);
  Told(Residency::kAwake, false, 3);
  EXPECT_EQ(resident_.SettledAt(), now_ + Duration::Seconds(3 * Resident::kLeastStay));
}

TEST_F(ResidentTest, AFailedWakeIsFollowedByPausesThatDouble) {
  Told(Residency::kAsleep);
  double pause = Resident::kFirstPause;
  for (int i = 0; i < 12; ++i) {
    resident_.OrderWake(presence_, now_);
    Told(Residency::kAsleep, true, 1);
    EXPECT_FALSE(presence_.CountsAsUp(Health::kUp)) << "nobody waits for it";
    EXPECT_EQ(resident_.NextChange(presence_), now_ + Duration::Seconds(pause));
    Wait(pause - 0.001);
    EXPECT_FALSE(resident_.TrustAgainAt(presence_, now_));
    Wait(0.001);
    EXPECT_TRUE(resident_.TrustAgainAt(presence_, now_));
    EXPECT_TRUE(presence_.CountsAsUp(Health::kUp));
    EXPECT_FALSE(resident_.TrustAgainAt(presence_, now_)) << "once";
    pause = std::min(Resident::kMostPause, 2 * pause);
  }
  EXPECT_EQ(pause, Resident::kMostPause);
  resident_.OrderWake(presence_, now_);
  Told(Residency::kAwake, false, 1);
  resident_.Proved();
  resident_.OrderWake(presence_, now_);
  Told(Residency::kAsleep, true, 1);
  EXPECT_EQ(resident_.NextChange(presence_), now_ + Duration::Seconds(Resident::kFirstPause)) << "a success resets it";
}

TEST_F(ResidentTest, AWakeThatIsGoneBeforeItFinishedARequestFailed) {
  double pause = Resident::kFirstPause;
  for (int i = 0; i < 3; ++i) {
    Told(Residency::kAsleep);
    resident_.OrderWake(presence_, now_);
    Told(Residency::kAwake, false, 1);
    EXPECT_TRUE(presence_.trusted);
    Wait(0.5);
    Told(Residency::kAsleep);
    EXPECT_FALSE(presence_.trusted);
    EXPECT_EQ(resident_.counts().failures, i + 1);
    EXPECT_EQ(resident_.NextChange(presence_), now_ + Duration::Seconds(pause)) << "the pauses double";
    Wait(pause);
    EXPECT_TRUE(resident_.TrustAgainAt(presence_, now_));
    pause *= 2;
  }
}

TEST_F(ResidentTest, AWakeThatFinishedARequestOrStayedSucceeded) {
  for (const bool finishes : {true, false}) {
    Told(Residency::kAsleep);
    resident_.OrderWake(presence_, now_);
    Told(Residency::kAwake, false, 1);
    if (finishes) resident_.Proved();
    if (!finishes) Wait(1 * Resident::kLeastStay);
    Told(Residency::kAsleep);
    EXPECT_TRUE(presence_.trusted) << finishes;
  }
  resident_.OrderWake(presence_, now_);
  Told(Residency::kAsleep, true, 1);
  EXPECT_EQ(resident_.NextChange(presence_), now_ + Duration::Seconds(Resident::kFirstPause));
}

TEST_F(ResidentTest, AFailedWakeThatIsNotPutBackHoldsItsMemory) {
  Told(Residency::kAsleep);
  resident_.OrderWake(presence_, now_);
  for (int i = 0; i < 3; ++i) {
    Told(Residency::kWaking, true, 1);
    EXPECT_TRUE(presence_.holds && presence_.CannotWake());
    EXPECT_EQ(resident_.NextChange(presence_), Instant::Never()) << "the edge tells how it ends";
    EXPECT_EQ(resident_.counts().failures, 1) << "each try to put it back is none";
    Wait(100);
  }
  Told(Residency::kAsleep, false, 1);
  EXPECT_FALSE(presence_.holds);
  EXPECT_TRUE(presence_.CannotWake()) << "its pause begins";
  EXPECT_EQ(resident_.NextChange(presence_), now_ + Duration::Seconds(Resident::kFirstPause));
}

TEST_F(ResidentTest, AFailedWakeThatEndsLateIsAwake) {
  Told(Residency::kAsleep);
  resident_.OrderWake(presence_, now_);
  Told(Residency::kWaking, true, 1);
  Told(Residency::kAwake);
  EXPECT_TRUE(presence_.Takes() && presence_.trusted && !presence_.holds);
}

TEST_F(ResidentTest, AnOrderThatNeverEndsCountsAsFailedUntilTheEdgeTellsItsEnd) {
  Told(Residency::kAsleep);
  resident_.OrderWake(presence_, now_);
  const Instant overdue = now_ + resident_.wake().patience();
  EXPECT_EQ(resident_.NextChange(presence_), overdue);
  EXPECT_FALSE(resident_.GiveUpAt(presence_, overdue - Duration::Milliseconds(1)));
  EXPECT_TRUE(resident_.GiveUpAt(presence_, overdue));
  EXPECT_EQ(presence_.residency, Residency::kWaking) << "it may still take the memory";
  EXPECT_FALSE(presence_.CountsAsUp(Health::kUp));
  EXPECT_EQ(resident_.NextChange(presence_), Instant::Never());
  Wait(1000);
  Told(Residency::kAwake, false, 900);
  EXPECT_TRUE(presence_.Takes());
}

TEST_F(ResidentTest, AChangeThatSomebodyElseMadeTeachesNoWakeTime) {
  Told(Residency::kAsleep);
  Told(Residency::kWaking);
  EXPECT_NE(resident_.NextChange(presence_), Instant::Never()) << "it has a deadline all the same";
  Told(Residency::kAwake);
  EXPECT_EQ(resident_.wake().expected(), Duration::Seconds(2));
  EXPECT_TRUE(presence_.Takes());
}

TEST_F(ResidentTest, ASleepThatFailsLeavesItAwake) {
  presence_.leaving = true;
  resident_.OrderSleep(presence_, SleepLevel::kUnsaid, now_);
  Told(Residency::kAwake, true, 1);
  EXPECT_TRUE(presence_.Takes());
  EXPECT_FALSE(presence_.trusted) << "it is not asked again at once";
}

TEST_F(ResidentTest, OneThatDoesNotFallAsleepHoldsItsMemoryUntilAPauseIsOver) {
  double pause = Resident::kFirstPause;
  for (int i = 1; i <= 3; ++i) {
    resident_.OrderSleep(presence_, SleepLevel::kUnsaid, now_);
    Told(Residency::kAwake, true, 1);
    EXPECT_EQ(presence_.holds, i >= Resident::kMostFailures) << "one failure is no proof";
    Wait(pause);
    EXPECT_TRUE(resident_.TrustAgainAt(presence_, now_));
    EXPECT_FALSE(presence_.holds) << "it is tried again";
    pause *= 2;
  }
  resident_.OrderSleep(presence_, SleepLevel::kUnsaid, now_);
  EXPECT_FALSE(presence_.holds);
  EXPECT_TRUE(resident_.GiveUpAt(presence_, now_ + Duration::Seconds(1000)));
  EXPECT_TRUE(presence_.holds) << "it is overdue";
  Told(Residency::kAsleep, false, 1001);
  EXPECT_FALSE(presence_.holds);
}

}  // namespace
}  // namespace penstock
