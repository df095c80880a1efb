// An engine of commands that does not answer: asleep, or hanging on its memory.
#include "backends/command/absence_watch.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Finding = AbsenceWatch::Finding;
constexpr Duration kPatience = Duration::Seconds(20);

class AnAbsentEngine : public ::testing::Test {
 protected:
  Finding After(double seconds, const CommandRound& round) {
    return watch_.OnRound(round, Instant() + Duration::Seconds(seconds), kPatience);
  }
  AbsenceWatch watch_;
};

TEST_F(AnAbsentEngine, IsAsleepWhenItsProcessesHaveEnded) {
  EXPECT_EQ(After(1, {.answered = false, .gone = false}), Finding::kNothing) << "one silence is none";
  EXPECT_EQ(After(2, {.answered = false, .gone = true}), Finding::kAsleep);
  EXPECT_EQ(After(3, {.answered = false, .gone = true, .running = 0}), Finding::kAsleep);
  EXPECT_EQ(After(4, {.answered = true}), Finding::kAwake);
}

TEST_F(AnAbsentEngine, HangsWhileItsStartCommandRuns) {
  const CommandRound silent = {.answered = false, .gone = true, .refused = true, .start_runs = true};
  EXPECT_EQ(After(1, silent), Finding::kNothing);
  EXPECT_EQ(After(20, silent), Finding::kNothing);
  EXPECT_EQ(After(21, silent), Finding::kHangs);
  EXPECT_EQ(After(22, silent), Finding::kNothing) << "it is being stopped, or could not be";
  EXPECT_EQ(After(41, silent), Finding::kHangs) << "the next try";
  EXPECT_EQ(After(42, {.answered = false, .gone = true}), Finding::kAsleep);
}

TEST_F(AnAbsentEngine, OfNoProcessThatIsKnownHangsWhileRequestsRanAndItsAddressLives) {
  EXPECT_EQ(After(1, {.answered = false, .gone = true, .running = 2}), Finding::kNothing);
  EXPECT_EQ(After(21, {.answered = false, .gone = true, .running = 2}), Finding::kHangs);
  EXPECT_EQ(After(22, {.answered = false, .gone = true, .refused = true, .running = 2}), Finding::kAsleep)
      << "it crashed with its requests";
}

TEST_F(AnAbsentEngine, ThatAnswersWithErrorsIsNotAsleep) {
  EXPECT_EQ(After(1, {.gone = true, .errs = true, .running = 0}), Finding::kNothing);
  EXPECT_EQ(After(21, {.gone = true, .errs = true, .running = 0}), Finding::kHangs);
}

TEST_F(AnAbsentEngine, IsNotStoppedWhileTokensCome) {
  const Instant token = Instant() + Duration::Seconds(15);
  const CommandRound deaf = {.gone = true, .start_runs = true, .token = token};
  EXPECT_EQ(After(1, deaf), Finding::kNothing);
  EXPECT_EQ(After(34, deaf), Finding::kNothing);
  EXPECT_EQ(After(35, deaf), Finding::kHangs);
}

TEST_F(AnAbsentEngine, ThatAnswersBetweenIsGivenThePatienceAgain) {
  const CommandRound silent = {.answered = false, .gone = true, .start_runs = true};
  EXPECT_EQ(After(1, silent), Finding::kNothing);
  EXPECT_EQ(After(15, {.answered = true, .start_runs = true}), Finding::kAwake);
  EXPECT_EQ(After(30, silent), Finding::kNothing);
  EXPECT_EQ(After(49, silent), Finding::kNothing);
  EXPECT_EQ(After(50, silent), Finding::kHangs);
}

}  // namespace
}  // namespace penstock
