#include "router/policies/gates/threshold_gate.h"

#include <gtest/gtest.h>

#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

class ThresholdGateTest : public ::testing::Test {
 protected:
  void SetUp() override { step_.Start(SmallFleet(2)); }
  RivalOf<ThresholdGate> gate_;
  Stepper step_{gate_};
};

TEST_F(ThresholdGateTest, TheReplicaWithTheLeastKvUseWins) {
  step_.Report(1, 0, 0.5, 0);
  step_.Report(1, 1, 0.4, 4);

  const auto forward = Only<Forward>(step_.Arrive(1, 1));

  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->replica, ReplicaId(1));
  EXPECT_DOUBLE_EQ(forward->peak_share, 0.4);
}

TEST_F(ThresholdGateTest, AtEqualKvUseTheFewestWaitingWins) {
  step_.Report(1, 0, 0.5, 3);
  step_.Report(1, 1, 0.5, 2);

  EXPECT_EQ(Only<Forward>(step_.Arrive(1, 1))->replica, ReplicaId(1));
}

TEST_F(ThresholdGateTest, OldReportsAreBelievedSoRequestsHerd) {
  step_.Report(1, 0, 0.5, 0);
  step_.Report(1, 1, 0.4, 0);

  for (uint64_t id = 1; id <= 50; ++id) {
    EXPECT_EQ(Only<Forward>(step_.Arrive(1, id))->replica, ReplicaId(1)) << id;
  }
}

TEST_F(ThresholdGateTest, EightyPercentOfKvOrFiveWaitingCloseAReplica) {
  step_.Report(1, 0, 0.8, 0);
  step_.Report(1, 1, 0.1, 5);

  const auto park = Only<Park>(step_.Arrive(1, 1));

  ASSERT_TRUE(park.has_value());
  EXPECT_EQ(park->reason, WaitReason::kMemory);
  EXPECT_EQ(gate_.WaitOf(RequestId(1))->position, 0);
}

TEST_F(ThresholdGateTest, AClosedGateShowsTheModelThatWaitsAndTheMemoryThatReportsLeave) {
  step_.Report(1, 0, 0.8, 0);
  step_.Report(1, 1, 0.1, 5);
  EXPECT_TRUE(gate_.FindMemoryWaits(Instant::FromSeconds(1)).models.empty());

  step_.Arrive(1, 1);

  const MemoryWaits waits = gate_.FindMemoryWaits(Instant::FromSeconds(1));
  EXPECT_EQ(waits.models, std::vector<ModelId>{ModelId(0)});
  const std::vector<MemoryWaits::Pool> pools = {{PoolId(0), Amount(2000)}, {PoolId(1), Amount(9000)}};
  EXPECT_EQ(waits.pools, pools);
}

TEST_F(ThresholdGateTest, JustBelowTheThresholdsAReplicaIsOpen) {
  step_.Report(1, 0, 0.799, 4);
  step_.Report(1, 1, 0.9, 0);

  EXPECT_EQ(Only<Forward>(step_.Arrive(1, 1))->replica, ReplicaId(0));
}

TEST_F(ThresholdGateTest, AReportThatOpensTheGateReleasesWhatWaitsInOrder) {
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.9, 0);
  step_.Arrive(1.0, 1);
  step_.Arrive(1.1, 2);

  const std::vector<Action> actions = step_.Report(1.25, 0, 0.3, 0);

  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<Forward>(actions[0]).request, RequestId(1));
  EXPECT_EQ(std::get<Forward>(actions[0]).waited, Duration::Seconds(0.25));
  EXPECT_EQ(std::get<Forward>(actions[1]).request, RequestId(2));
}

TEST_F(ThresholdGateTest, AWaitingRequestIsRefusedWhenItsFirstTokenCanNoLongerBeInTime) {
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.9, 0);
  // 1000 tokens take 10 + 100 ms, the dispatch 10 ms: after 880 ms of waiting it is late.
  step_.Arrive(1, 1, 1000);

  ASSERT_EQ(gate_.NextDeadline(), Instant::FromSeconds(1.88));
  EXPECT_TRUE(step_.At(1.879, TimerFired{}).empty());
  const auto refusal = Only<Refuse>(step_.At(1.88, TimerFired{}));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, Refusal::kDeadlineUnreachable);
  EXPECT_GE(refusal->retry_after, Duration::Seconds(1));
  EXPECT_LE(refusal->retry_after, Duration::Seconds(60));
  EXPECT_EQ(gate_.NextDeadline(), std::nullopt);
}

TEST_F(ThresholdGateTest, ARequestThatNoIdleReplicaCouldServeInTimeIsNotRefusedForLateness) {
  Fleet fleet = SmallFleet(2);
  for (ReplicaSpec& replica : fleet.replicas) replica.prior.d = 1;
  step_.Start(fleet);
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.9, 0);

  step_.Arrive(1, 1, 2000);

  // Only the queue time of its class ends its wait.
  EXPECT_EQ(gate_.NextDeadline(), Instant::FromSeconds(6));
  EXPECT_EQ(Only<Refuse>(step_.At(6, TimerFired{}))->reason, Refusal::kQueueTimeout);
}

TEST_F(ThresholdGateTest, AClassWithoutLatenessRefusalWaitsItsWholeQueueTime) {
  step_.Report(1, 0, 0.9, 0);
  step_.Report(1, 1, 0.9, 0);

  step_.Arrive(1, 1, 100, 1);

  EXPECT_TRUE(step_.At(60.9, TimerFired{}).empty());
  EXPECT_EQ(Only<Refuse>(step_.At(61, TimerFired{}))->reason, Refusal::kQueueTimeout);
}

}  // namespace
}  // namespace penstock
