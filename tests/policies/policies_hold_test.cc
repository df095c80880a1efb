// When the flow control of llm-d holds, whom it picks, and when it gives up.
#include <gtest/gtest.h>

#include <map>

#include "router/policies/gates/llmd_flow_control.h"
#include "router/policies/policy_factory.h"
#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

class LlmdUtilization : public ::testing::Test {
 protected:
  LlmdUtilization() { step_.Start(SmallFleet(2)); }
  RivalOf<LlmdFlowControl> policy_{LlmdFlowControl::Options{}, 1};
  Stepper step_{policy_};
};

TEST_F(LlmdUtilization, RequestsWaitWhileTheMeanOfTheFullerResourceIsAtOne) {
  step_.Report(1, 0, 0.1, 5);  // 5/5.
  step_.Report(1, 1, 0.8, 0);  // 0.8/0.8.

  EXPECT_EQ(Only<Park>(step_.Arrive(1, 1))->reason, WaitReason::kMemory);
  step_.Arrive(1.1, 2);
  // A mean below one opens the gate for all that wait, in order.
  const std::vector<Action> actions = step_.Report(1.25, 0, 0.1, 4);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<Forward>(actions[0]).request, RequestId(1));
  EXPECT_EQ(std::get<Forward>(actions[1]).request, RequestId(2));
}

TEST_F(LlmdUtilization, OneVeryFullReplicaHoldsTheWholePool) {
  step_.Report(1, 0, 0.1, 20);
  step_.Report(1, 1, 0.0, 0);

  EXPECT_TRUE(Only<Park>(step_.Arrive(1, 1)).has_value());
}

TEST_F(LlmdUtilization, OtherModelsArePoolsOfTheirOwn) {
  step_.Report(1, 0, 0.1, 20);
  step_.Report(1, 1, 0.1, 20);

  EXPECT_TRUE(Only<Forward>(step_.Arrive(1, 1, 100, 0, 1)).has_value());
}

TEST_F(LlmdUtilization, WhileOpenAFullReplicaIsPassedOver) {
  step_.Report(1, 0, 0.1, 6);
  step_.Report(1, 1, 0.6, 3);

  for (uint64_t id = 1; id <= 10; ++id) EXPECT_EQ(Only<Forward>(step_.Arrive(1, id))->replica, ReplicaId(1));
}

TEST_F(LlmdUtilization, TheShorterQueueAndTheFreerCacheWin) {
  step_.Report(1, 0, 0.5, 2);
  step_.Report(1, 1, 0.4, 1);
  EXPECT_EQ(Only<Forward>(step_.Arrive(1, 1))->replica, ReplicaId(1));

  step_.Report(2, 0, 0.2, 1);
  EXPECT_EQ(Only<Forward>(step_.Arrive(2, 2))->replica, ReplicaId(0));
}

TEST_F(LlmdUtilization, AMatchingPrefixOutweighsALittleKv) {
  step_.Report(1, 0, 0.0, 0);
  step_.Report(1, 1, 0.3, 0);
  step_.At(1, ReplicaHealth{ReplicaId(0), Health::kDown});
  RequestArrived first = Stepper::Request(1, kPrefixBlock.value());
  first.prefix = {42};
  ASSERT_EQ(Only<Forward>(step_.At(1, first))->replica, ReplicaId(1));
  step_.At(2, ReplicaHealth{ReplicaId(0), Health::kUp});

  RequestArrived second = first;
  second.request = RequestId(2);
  EXPECT_EQ(Only<Forward>(step_.At(2, second))->replica, ReplicaId(1));
  EXPECT_EQ(Only<Forward>(step_.Arrive(2, 3))->replica, ReplicaId(0));
}

TEST_F(LlmdUtilization, EqualReplicasAreDrawn) {
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 200; ++id) ++chosen[Only<Forward>(step_.Arrive(1, id))->replica.value()];
  EXPECT_NEAR(chosen[0], 100, 30);
}

TEST_F(LlmdUtilization, OnlyTheQueueTimeEndsAWait) {
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.9, 0);
  step_.Arrive(1, 1, 1000);

  // The TTFT goal of 1 s has long passed.
  ASSERT_EQ(policy_.NextDeadline(), Instant::FromSeconds(6));
  EXPECT_EQ(Only<Refuse>(step_.At(6, TimerFired{}))->reason, Refusal::kQueueTimeout);
}

TEST(LlmdTtl, ATtlTakesThePlaceOfTheQueueTime) {
  const auto policy = MakePolicy("llmd_utilization:ttl=2", 1);
  Stepper step(*policy);
  step.Start(SmallFleet(1));
  step.Report(1, 0, 0.9, 0);
  step.Arrive(1, 1, 100, 1);

  EXPECT_TRUE(step.At(2.9, TimerFired{}).empty());
  EXPECT_EQ(Only<Refuse>(step.At(3, TimerFired{}))->reason, Refusal::kQueueTimeout);
}

TEST(LlmdSettings, HeadroomLetsAReplicaAboveItsLimitBeChosen) {
  const auto policy = MakePolicy("llmd_utilization:headroom=0.5", 1);
  Stepper step(*policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 0.0, 6);  // 1.2 of its limit, within 1.5.
  step.Report(1, 1, 0.7, 6);
  step.Report(1, 1, 0.7, 3);

  // Saturation (1.2 + 0.875)/2 is above one; then below.
  EXPECT_TRUE(Only<Park>(step.Arrive(1, 1)).has_value());
  const std::vector<Action> actions = step.Report(2, 1, 0.6, 3);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<Forward>(actions[0]).replica, ReplicaId(1));
  step.Report(3, 1, 0.6, 7);
  EXPECT_TRUE(Only<Park>(step.Arrive(3, 2)).has_value());
}

TEST(LlmdConcurrency, RequestsWaitAtTheLimitOfAllReplicasTogether) {
  const auto policy = MakePolicy("llmd_concurrency:max=2", 1);
  Stepper step(*policy);
  step.Start(SmallFleet(2));
  std::map<uint32_t, int> chosen;
  for (uint64_t id = 1; id <= 4; ++id) ++chosen[Only<Forward>(step.Arrive(1, id))->replica.value()];
  // A replica at its own limit is passed over.
  EXPECT_EQ(chosen[0], 2);
  EXPECT_EQ(chosen[1], 2);

  EXPECT_EQ(Only<Park>(step.Arrive(1, 5))->reason, WaitReason::kSequences);
  const auto next = step.At(2, RequestClosed{RequestId(1), Outcome::kFinished, Tokens(0), Tokens(5), false});
  EXPECT_EQ(Only<Forward>(next)->request, RequestId(5));
}

TEST(LlmdConcurrency, ReportsDoNotHold) {
  const auto policy = MakePolicy("llmd_concurrency", 1);
  Stepper step(*policy);
  step.Start(SmallFleet(2));
  step.Report(1, 0, 1.0, 100);
  step.Report(1, 1, 1.0, 100);

  EXPECT_TRUE(Only<Forward>(step.Arrive(1, 1)).has_value());
}

TEST(ThresholdGateSettings, ThresholdsCanBeMoved) {
  const auto policy = MakePolicy("threshold_gate:kv=0.9,queue=10", 1);
  Stepper step(*policy);
  step.Start(SmallFleet(1));
  step.Report(1, 0, 0.89, 9);
  EXPECT_TRUE(Only<Forward>(step.Arrive(1, 1)).has_value());
  step.Report(2, 0, 0.1, 10);
  EXPECT_TRUE(Only<Park>(step.Arrive(2, 2)).has_value());
}

}  // namespace
}  // namespace penstock
