#include "router/core/learning/pace_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr double kPrior = 0.02;  // Seconds of a step.

class PaceWatchTest : public ::testing::Test {
 protected:
  // So many samples of one step, each `ratio` times as long as the prior says.
  void See(int samples, double ratio, int busy_neighbours = 0, bool learns = true) {
    for (int i = 0; i < samples; ++i) {
      now_ = now_ + Duration::Seconds(kPrior * ratio);
      watch_.Observe(1, kPrior * ratio, kPrior, busy_neighbours, learns, now_);
    }
  }

  Instant now_ = Instant::FromSeconds(100);
  PaceWatch watch_{true, 1};
};

TEST_F(PaceWatchTest, TheLevelIsTheRatioOfTheNewestStepsToTheUsualOnes) {
  See(100, 1);
  EXPECT_NEAR(watch_.level(), 1, 0.01);
  See(PaceWatch::kWindow, 4);
  EXPECT_NEAR(watch_.level(), 4, 0.2);
  EXPECT_EQ(watch_.slow_steps(), PaceWatch::kWindow);
}

TEST_F(PaceWatchTest, ALonePauseIsLeftOut) {
  See(100, 1);
  See(1, 50);
  See(3, 1);
  EXPECT_NEAR(watch_.level(), 1, 0.05);
  See(1, 50);
  EXPECT_GT(watch_.level(), 5) << "two within the window are more than chance";
}

TEST_F(PaceWatchTest, PrefillThatIsCountedInTheWrongStepEvensOut) {
  See(100, 1);
  for (int i = 0; i < 10; ++i) {
    See(1, 3);
    See(1, 0.2);
    See(2, 0.5);
    EXPECT_LT(watch_.level(), 1.2);
  }
}

TEST_F(PaceWatchTest, ABusyNeighbourIsNoSlowness) {
  See(100, 1);
  See(20, 2, 1);
  EXPECT_NEAR(watch_.level(), 1, 0.05);
  See(20, 4, 1);
  EXPECT_NEAR(watch_.level(), 2, 0.4);
}

TEST_F(PaceWatchTest, AnErrorOfThePriorBecomesUsualWithTimeAndTwentyStepsDoNot) {
  See(20, 2);
  EXPECT_GT(watch_.level(), 1.5);
  See(2000, 2);
  EXPECT_NEAR(watch_.level(), 1, 0.05);
}

TEST_F(PaceWatchTest, NothingBecomesUsualWhileItDoesNotLearn) {
  See(100, 1);
  See(5000, 2, 0, /*learns=*/false);
  EXPECT_NEAR(watch_.level(), 2, 0.05);
}

TEST_F(PaceWatchTest, AGuessedPriorIsLearnedOverAndUnsureUntilThen) {
  watch_ = PaceWatch(false, 1);
  See(50, 7);
  EXPECT_NEAR(watch_.level(), 1, 0.05);
  EXPECT_FALSE(watch_.sure());
  See(200, 7);
  EXPECT_TRUE(watch_.sure());
}

TEST_F(PaceWatchTest, AfterIdleTimeNewStepsAreAwaited) {
  See(20, 4);
  watch_.Forget();
  EXPECT_FALSE(watch_.filled());
  See(PaceWatch::kWindow, 1);
  EXPECT_TRUE(watch_.filled());
  EXPECT_LT(watch_.level(), 1.2);
}

}  // namespace
}  // namespace penstock
