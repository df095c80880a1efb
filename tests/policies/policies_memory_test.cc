// The choices of the policies that look ahead in memory: past_future, max_tokens and mc_sf, and their shared parts.
#include <gtest/gtest.h>

#include "base/generator.h"
#include "router/policies/gates/max_tokens.h"
#include "router/policies/gates/mc_sf.h"
#include "router/policies/gates/past_future.h"
#include "router/policies/kit/length_history.h"
#include "tests/kvmodel/past_future_peak.h"
#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

// Pools of 10,000 tokens without blocks, so that sums are exact.
Fleet PlainFleet(uint32_t replicas) {
  Fleet fleet = SmallFleet(replicas);
  for (ReplicaSpec& replica : fleet.replicas) replica.pools[0].footprint = Footprint::InTokens(Tokens(1));
  return fleet;
}

RequestArrived Limited(uint64_t id, int64_t prompt, int64_t limit) {
  RequestArrived request = Stepper::Request(id, prompt, 1);
  request.max_output = Tokens(limit);
  return request;
}

std::vector<Action> CloseOf(Stepper& step, double at, uint64_t id, int64_t output) {
  return step.At(at, RequestClosed{RequestId(id), Outcome::kFinished, Tokens(0), Tokens(output), false});
}

void Progressed(Stepper& step, double at, uint32_t replica, int64_t steps) {
  step.At(at, Progress{{{ReplicaId(replica), steps, Instant::FromSeconds(at)}}, {}});
}

TEST(FuturePeak, AgreesWithTheOracleOfKvmodel) {
  bench::Generator random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Growing> growing;
    std::vector<Outstanding> outstanding;
    for (uint64_t i = 0; i < random.Next() % 30; ++i) {
      const int64_t held = 1 + static_cast<int64_t>(random.Next() % 1000);
      const int64_t remaining = 1 + static_cast<int64_t>(random.Next() % 300);
      growing.push_back({static_cast<double>(held), 1, static_cast<double>(remaining)});
      outstanding.push_back({Tokens(held), Tokens(remaining)});
    }
    EXPECT_DOUBLE_EQ(FuturePeak(growing), PastFuturePeak(outstanding).AsDouble()) << "round " << round;
  }
}

TEST(LengthHistory, StandInsGoAsRealLengthsCome) {
  LengthHistory history(40);
  EXPECT_DOUBLE_EQ(history.Mean(), 1024);
  for (int i = 0; i < 20; ++i) history.Observe(100);
  EXPECT_DOUBLE_EQ(history.Mean(), 100);
  EXPECT_DOUBLE_EQ(history.Median(), 100);
  for (int i = 0; i < 21; ++i) history.Observe(300);
  EXPECT_DOUBLE_EQ(history.Median(), 300);
  for (int i = 0; i < 40; ++i) history.Observe(50);
  EXPECT_DOUBLE_EQ(history.Mean(), 50);
}

TEST(LengthHistory, ADrawLiesAboveWhatIsGivenAndWithinTheCap) {
  bench::Generator random(1);
  LengthHistory history(20);
  for (int i = 1; i <= 20; ++i) history.Observe(10 * i);
  for (int i = 0; i < 300; ++i) {
    const double draw = history.DrawAbove(100, 1000, random);
    EXPECT_GE(draw, 100);
    EXPECT_LE(draw, 1000);
    EXPECT_LE(history.DrawAbove(50, 120, random), 120);
    // Beyond everything seen, only the cap is ahead.
    EXPECT_GE(history.DrawAbove(500, 600, random), 500);
    EXPECT_DOUBLE_EQ(history.DrawAbove(700, 600, random), 700);
  }
}

TEST(MaxTokensPolicy, PromptAndLimitOfAllThatRunMustFit) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  EXPECT_TRUE(Only<Forward>(step.At(1, Limited(1, 4000, 2000))).has_value());
  // 6000 + 3000 + 1000 fill the pool to the last token.
  EXPECT_TRUE(Only<Forward>(step.At(1, Limited(2, 3000, 1000))).has_value());
  EXPECT_EQ(Only<Park>(step.At(1, Limited(3, 1, 1)))->reason, WaitReason::kMemory);

  // An early end gives the whole reservation back.
  EXPECT_EQ(Only<Forward>(CloseOf(step, 2, 2, 5))->request, RequestId(3));
}

TEST(MaxTokensPolicy, ARequestWithoutALimitCounts1024) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  step.At(1, Limited(1, 8000, 100));
  EXPECT_TRUE(Only<Park>(step.Arrive(1, 2, 877, 1)).has_value());
  CloseOf(step, 2, 1, 1);
  step.At(3, Limited(3, 8000 - 1024 - 877, 100));
  EXPECT_TRUE(Only<Forward>(step.Arrive(3, 4, 876, 1)).has_value());
}

TEST(MaxTokensPolicy, TheLeastFullReplicaWins) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(2));
  ASSERT_EQ(Only<Forward>(step.At(1, Limited(1, 3000, 100)))->replica, ReplicaId(0));
  EXPECT_EQ(Only<Forward>(step.At(1, Limited(2, 2000, 100)))->replica, ReplicaId(1));
  EXPECT_EQ(Only<Forward>(step.At(1, Limited(3, 500, 100)))->replica, ReplicaId(1));
  EXPECT_EQ(Only<Forward>(step.At(1, Limited(4, 1000, 100)))->replica, ReplicaId(1));
  EXPECT_EQ(Only<Forward>(step.At(1, Limited(5, 1000, 100)))->replica, ReplicaId(0));
}

TEST(MaxTokensPolicy, ALoneRequestIsNeverHeld) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{1024, 0.5});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  EXPECT_TRUE(Only<Forward>(step.At(1, Limited(1, 7000, 1000))).has_value());
}

TEST(MaxTokensPolicy, LateRequestsAreRefused) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  step.At(1, Limited(1, 7000, 1000));
  step.Arrive(1, 2, 1000, 0);

  // Class 0 has a TTFT goal of 1 s: 10 ms of dispatch, 10 + 100 ms of prefill.
  ASSERT_EQ(policy.NextDeadline(), Instant::FromSeconds(1.88));
  EXPECT_EQ(Only<Refuse>(step.At(1.88, TimerFired{}))->reason, Refusal::kDeadlineUnreachable);
}

TEST(MaxTokensPolicy, AFullBatchWaits) {
  RivalOf<MaxTokens> policy(MaxTokens::Options{});
  Stepper step(policy);
  Fleet fleet = PlainFleet(1);
  fleet.replicas[0].max_sequences = 2;
  step.Start(fleet);
  step.At(1, Limited(1, 10, 10));
  step.At(1, Limited(2, 10, 10));
  EXPECT_EQ(Only<Park>(step.At(1, Limited(3, 10, 10)))->reason, WaitReason::kSequences);
}

// With a history of one length, every draw is that length.
class PastFutureTest : public ::testing::Test {
 protected:
  PastFutureTest() : policy_(PastFuture::Options{0.05, 20, 5}, 1) {
    step_.Start(PlainFleet(1));
    for (uint64_t id = 1000; id < 1040; ++id) {
      step_.Arrive(0.1, id, 10, 1);
      CloseOf(step_, 0.1, id, 500);
    }
  }
  RivalOf<PastFuture> policy_;
  Stepper step_{policy_};
};

TEST_F(PastFutureTest, ThePeakOfDrawnLengthsMustStayBelowTheReserve) {
  // Twice 4000 + 500 peak at 9000, a third of 10 at 9510: above 9500.
  EXPECT_TRUE(Only<Forward>(step_.At(1, Limited(1, 4000, 500))).has_value());
  EXPECT_TRUE(Only<Forward>(step_.At(1, Limited(2, 4000, 500))).has_value());
  EXPECT_EQ(Only<Park>(step_.At(1, Limited(3, 10, 500)))->reason, WaitReason::kMemory);
}

TEST_F(PastFutureTest, RequestsThatEndEarlierLeaveRoomForLaterOnes) {
  step_.At(1, Limited(1, 4000, 500));
  step_.At(1, Limited(2, 4000, 500));
  EXPECT_TRUE(Only<Park>(step_.At(1, Limited(3, 900, 500))).has_value());
  for (uint64_t id = 1; id <= 2; ++id) step_.At(1.1, FirstToken{RequestId(id)});
  Progressed(step_, 2, 0, 450);
  // 50 tokens from their end: 4450 x 2 + 900 + 3 x 50 = 9950, then 900 + 500 alone.
  EXPECT_TRUE(step_.Report(2, 0, 0.5, 0).empty());
  const auto next = CloseOf(step_, 2.1, 1, 460);
  ASSERT_TRUE(Only<Forward>(next).has_value());
  EXPECT_EQ(Only<Forward>(next)->request, RequestId(3));
}

TEST_F(PastFutureTest, FirstComeFirstServedEvenIfALaterOneWouldFit) {
  step_.At(1, Limited(1, 4000, 500));
  step_.At(1, Limited(2, 4000, 500));
  step_.At(1, Limited(3, 900, 500));
  EXPECT_EQ(Only<Park>(step_.At(1, Limited(4, 1, 1)))->position, 1);
}

TEST(McSfPolicy, TheShortestPredictionGoesFirst) {
  RivalOf<McSf> policy(McSf::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  step.At(1, Limited(1, 7000, 1000));
  // 7800 + 2500 + 800, and 7400 + 2500 + 400: too much at their ends.
  EXPECT_TRUE(Only<Park>(step.At(1, Limited(2, 2500, 800))).has_value());
  EXPECT_TRUE(Only<Park>(step.At(1, Limited(3, 2500, 400))).has_value());

  EXPECT_EQ(policy.WaitOf(RequestId(3))->position, 0);
  EXPECT_EQ(policy.WaitOf(RequestId(2))->position, 1);
  const std::vector<Action> actions = CloseOf(step, 2, 1, 50);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<Forward>(actions[0]).request, RequestId(3));
  EXPECT_EQ(std::get<Forward>(actions[1]).request, RequestId(2));
}

TEST(McSfPolicy, MemoryIsTestedAtEveryCompletionToCome) {
  RivalOf<McSf> policy(McSf::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  step.At(1, Limited(1, 8000, 100));
  // When the first ends both hold 100 more: 8000 + 100 + 1800 + 100 is just the pool; then 1800 + 1000 alone.
  EXPECT_TRUE(Only<Park>(step.At(1, Limited(2, 1801, 1000))).has_value());
  step.At(2, RequestClosed{RequestId(2), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  EXPECT_TRUE(Only<Forward>(step.At(2, Limited(3, 1800, 1000))).has_value());
}

TEST(McSfPolicy, ThePredictionIsTheMeanOfTheModelsOutputs) {
  RivalOf<McSf> policy(McSf::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  for (uint64_t id = 1; id <= 20; ++id) {
    step.Arrive(0.1, 100 + id, 10, 1);
    CloseOf(step, 0.1, 100 + id, id <= 10 ? 100 : 300);
  }
  // Mean 200: 9600 + 200 fit, 9801 + 200 do not.
  step.At(1, Limited(1, 7000, 1000));
  EXPECT_TRUE(Only<Park>(step.Arrive(1, 2, 2601, 1)).has_value());
  step.At(2, RequestClosed{RequestId(2), Outcome::kClientGone, Tokens(0), Tokens(0), false});
  EXPECT_TRUE(Only<Forward>(step.Arrive(2, 3, 2600, 1)).has_value());
}

TEST(McSfPolicy, ARequestBeyondItsPredictionIsTakenToEndNext) {
  RivalOf<McSf> policy(McSf::Options{});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  for (uint64_t id = 1; id <= 20; ++id) {
    step.Arrive(0.1, 100 + id, 10, 1);
    CloseOf(step, 0.1, 100 + id, 100);
  }
  step.At(1, Limited(1, 7000, 5000));
  step.At(1.1, FirstToken{RequestId(1)});
  Progressed(step, 3, 0, 400);
  // 7400 are there: one more step of both, then 2597 + 100 alone.
  EXPECT_TRUE(Only<Forward>(step.Arrive(3, 2, 2598, 1)).has_value());
}

TEST(McSfPolicy, ProtectionKeepsAShareFree) {
  RivalOf<McSf> policy(McSf::Options{false, 0.1});
  Stepper step(policy);
  step.Start(PlainFleet(1));
  step.At(1, Limited(1, 7000, 500));
  EXPECT_TRUE(Only<Park>(step.At(1, Limited(2, 1100, 500))).has_value());
}

}  // namespace
}  // namespace penstock
