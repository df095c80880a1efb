#include "backends/health/replica_health.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

Instant At(double seconds) { return Instant::FromSeconds(seconds); }

HealthTracker Up() {
  HealthTracker tracker(At(0));
  tracker.OnProbe(At(0), true);
  return tracker;
}

HealthTracker Down() {
  HealthTracker tracker = Up();
  tracker.OnConnectFailed(At(10));
  tracker.OnConnectFailed(At(10));
  return tracker;
}

TEST(HealthTracker, StartsDownWithAProbeDueAndComesUpWithTheFirstAnswer) {
  HealthTracker tracker(At(5));
  EXPECT_EQ(tracker.health(), Health::kDown);
  EXPECT_TRUE(tracker.probing_needed());
  EXPECT_EQ(tracker.next_probe(), At(5));
  tracker.OnProbe(At(5), true);
  EXPECT_EQ(tracker.health(), Health::kUp);
  EXPECT_FALSE(tracker.probing_needed());
}

TEST(HealthTracker, AProbeThatCouldNotBeSentChangesNothingButItsTime) {
  HealthTracker tracker(At(5));
  tracker.OnPostponed(At(5));
  EXPECT_EQ(tracker.health(), Health::kDown);
  EXPECT_GT(tracker.next_probe(), At(5.5));
  tracker.OnProbe(tracker.next_probe(), true);
  EXPECT_EQ(tracker.health(), Health::kUp);
  for (int i = 0; i < 10; ++i) tracker.OnPostponed(At(10));
  EXPECT_EQ(tracker.health(), Health::kUp);
}

TEST(HealthTracker, ProbesOfAnEngineThatIsDownSpreadOutButStayWithinASecond) {
  HealthTracker tracker(At(0));
  std::vector<double> gaps;
  for (int i = 0; i < 6; ++i) {
    const Instant now = tracker.next_probe();
    tracker.OnProbe(now, false);
    gaps.push_back((tracker.next_probe() - now).seconds());
  }
  EXPECT_EQ(gaps, (std::vector<double>{0.1, 0.2, 0.4, 0.8, 0.8, 0.8}));
}

TEST(HealthTracker, AReturnedReplicaIsKnownWithinASecondOfAnswering) {
  HealthTracker tracker = Down();
  Instant answers_from = At(0);
  while (tracker.next_probe() < At(60)) {
    answers_from = tracker.next_probe() + Duration::Nanoseconds(1);  // It comes back just after a probe failed.
    tracker.OnProbe(tracker.next_probe(), false);
  }
  Instant now;
  while (tracker.health() == Health::kDown) {
    now = tracker.next_probe();
    tracker.OnProbe(now, true);
  }
  EXPECT_LT(now - answers_from, Duration::Seconds(1));
}

TEST(HealthTracker, TwoConnectFailuresInARowTakeItDownAtOnceAndOneDoesNot) {
  HealthTracker tracker = Up();
  tracker.OnConnectFailed(At(1));
  EXPECT_EQ(tracker.health(), Health::kUp);
  tracker.OnAnswer();
  tracker.OnConnectFailed(At(2));
  EXPECT_EQ(tracker.health(), Health::kUp);
  tracker.OnConnectFailed(At(3));
  EXPECT_EQ(tracker.health(), Health::kDown);
  EXPECT_EQ(tracker.next_probe(), At(3) + Duration::Milliseconds(100));
}

TEST(HealthTracker, ThreeFailedPollsInARowTakeItDown) {
  HealthTracker tracker = Up();
  tracker.OnProbe(At(1), false);
  tracker.OnProbe(At(2), false);
  tracker.OnProbe(At(3), true);
  tracker.OnProbe(At(4), false);
  tracker.OnProbe(At(5), false);
  EXPECT_EQ(tracker.health(), Health::kUp);
  tracker.OnProbe(At(6), false);
  EXPECT_EQ(tracker.health(), Health::kDown);
}

TEST(HealthTracker, BrokenAnswersCountEvenWhilePollsAreFine) {
  HealthTracker tracker = Up();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tracker.health(), Health::kUp);
    tracker.OnProbe(At(i), true);
    tracker.OnBrokenAnswer(At(i));
  }
  EXPECT_EQ(tracker.health(), Health::kDown);
}

TEST(HealthTracker, ReturnsThroughProbationAfterConsecutiveGoodProbes) {
  HealthTracker tracker = Down();
  tracker.OnProbe(At(11), true);
  tracker.OnProbe(At(12), false);
  tracker.OnProbe(At(13), true);
  EXPECT_EQ(tracker.health(), Health::kDown);
  tracker.OnProbe(At(14), true);
  EXPECT_EQ(tracker.health(), Health::kProbing);
  tracker.OnAnswer();
  EXPECT_EQ(tracker.health(), Health::kUp);
}

TEST(HealthTracker, OnProbationASingleFailureTakesItDownAgain) {
  for (bool connect : {true, false}) {
    HealthTracker tracker = Down();
    tracker.OnProbe(At(11), true);
    tracker.OnProbe(At(12), true);
    ASSERT_EQ(tracker.health(), Health::kProbing);
    connect ? tracker.OnConnectFailed(At(13)) : tracker.OnBrokenAnswer(At(13));
    EXPECT_EQ(tracker.health(), Health::kDown);
  }
}

TEST(HealthTracker, ALateAnswerDoesNotBringADownReplicaBack) {
  HealthTracker tracker = Down();
  tracker.OnAnswer();
  EXPECT_EQ(tracker.health(), Health::kDown);
}

TEST(HealthTracker, FailuresOfManyRequestsAtOnceDoNotPostponeTheProbe) {
  HealthTracker tracker = Down();
  const Instant due = tracker.next_probe();
  for (int i = 0; i < 10; ++i) tracker.OnConnectFailed(At(10.05));
  EXPECT_EQ(tracker.next_probe(), due);
}

TEST(HealthTracker, ASleepingEngineIsDownAndWakesWithoutProbation) {
  HealthTracker tracker = Up();
  tracker.SetSleeping(true);
  EXPECT_EQ(tracker.health(), Health::kDown);
  tracker.SetSleeping(false);
  EXPECT_EQ(tracker.health(), Health::kUp);
}

TEST(HealthTracker, AHangPutsAReplicaOnProbationAndASecondOneTakesItDown) {
  HealthTracker tracker = Up();
  tracker.OnHang(At(1));
  EXPECT_EQ(tracker.health(), Health::kProbing);
  tracker.OnAnswer();
  EXPECT_EQ(tracker.health(), Health::kUp);
  tracker.OnHang(At(2));
  tracker.OnHang(At(3));
  EXPECT_EQ(tracker.health(), Health::kDown);
  EXPECT_TRUE(tracker.probing_needed());
}

TEST(HealthTracker, DrainingHidesUpAndProbationButNotDown) {
  HealthTracker tracker = Up();
  tracker.SetDraining(true);
  EXPECT_EQ(tracker.health(), Health::kDraining);
  tracker.OnConnectFailed(At(1));
  tracker.OnConnectFailed(At(1));
  EXPECT_EQ(tracker.health(), Health::kDown);
  tracker.SetDraining(false);
  EXPECT_EQ(tracker.health(), Health::kDown);
}

}  // namespace
}  // namespace penstock
