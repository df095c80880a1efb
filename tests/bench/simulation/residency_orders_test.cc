#include "bench/simulation/engines/residency_orders.h"

#include <gtest/gtest.h>

#include <utility>

namespace penstock::bench {
namespace {

// Three replicas that sleep, with 2 s of wake each, on a GPU for two.
SimulatedFleetSpec ThreeForTwo() {
  SimulatedFleetSpec spec;
  spec.fleet.gpus = {{"gpu0", Bytes(20)}};
  for (int i = 0; i < 3; ++i) {
    ReplicaSpec& replica = spec.fleet.replicas.emplace_back();
    replica.gpus = {0};
    replica.resident = Bytes(10);
    replica.sleep = SleepSpec{Duration::Seconds(30), Duration::Seconds(2)};
    SimulatedReplica& engine = spec.replicas.emplace_back();
    engine.gpus = {0};
    engine.wake = Duration::Seconds(2);
  }
  return spec;
}

// The first two are awake.
class ResidencyOrdersTest : public ::testing::Test {
 protected:
  ResidencyOrdersTest() {
    for (size_t replica : {0, 1}) {
      orders_.Begin(replica, true, true);
      End();
    }
  }
  // The next order ends.
  ReplicaResidency End() {
    const Scheduled event = events_.Next();
    EXPECT_EQ(event.kind, Occurrence::kOrderEnds);
    return orders_.End(event.subject, event.detail).value();
  }

  SimulatedFleetSpec spec_ = ThreeForTwo();
  EventQueue events_;
  ResidencyOrders orders_{spec_, events_};
};

TEST_F(ResidencyOrdersTest, AtTheStartEachReplicaSleepsThatMay) {
  SimulatedFleetSpec spec = ThreeForTwo();
  spec.fleet.replicas[0].sleep.reset();
  const ResidencyOrders orders(spec, events_);
  EXPECT_TRUE(orders.IsAwake(0));
  EXPECT_EQ(orders.residency(1), Residency::kAsleep);
  EXPECT_EQ(orders.residency(2), Residency::kAsleep);
}

TEST_F(ResidencyOrdersTest, AWakeTakesItsTimeAndTheMemoryThatASleepGaveBack) {
  orders_.Begin(0, false, true);
  EXPECT_EQ(orders_.residency(0), Residency::kFallingAsleep);
  EXPECT_EQ(End().residency, Residency::kAsleep);
  orders_.Begin(2, true, true);
  const ReplicaResidency woke = End();
  EXPECT_EQ(woke.replica, ReplicaId(2));
  EXPECT_EQ(woke.residency, Residency::kAwake);
  EXPECT_FALSE(woke.failed);
  EXPECT_NEAR(woke.took.seconds(), 2, 0.2 + 1e-9);
  EXPECT_EQ(orders_.wakes(), 3);
  EXPECT_EQ(orders_.sleeps(), 1);
  EXPECT_EQ(orders_.failed(), 0);
}

TEST_F(ResidencyOrdersTest, AWakeTakesTheTimeOfTheLevelOfItsSleep) {
  for (SimulatedReplica& engine : spec_.replicas) engine.wake_dropped = Duration::Seconds(20);
  for (const auto& [level, seconds] : {std::pair(SleepLevel::kDisk, 20.0), {SleepLevel::kHost, 2.0}}) {
    orders_.Begin(0, false, true, level);
    EXPECT_LE(End().took.seconds(), 1.1) << "a sleep reads nothing";
    orders_.Begin(0, true, true);
    EXPECT_NEAR(End().took.seconds(), seconds, 0.1 * seconds + 1e-9);
  }
}

TEST_F(ResidencyOrdersTest, AtTheStartTheReplicasFillTheMemoryOfTheirHostInTurn) {
  SimulatedFleetSpec spec = ThreeForTwo();
  spec.fleet.gpus[0].name = "node1/gpu0";
  spec.fleet.hosts = {{"node1", Bytes(16)}};
  for (ReplicaSpec& replica : spec.fleet.replicas) replica.sleep->weights = Bytes(8);
  for (ReplicaSpec& replica : spec.fleet.replicas) replica.sleep->may_drop = true;
  const ResidencyOrders orders(spec, events_);
  EXPECT_EQ(orders.level(0), SleepLevel::kHost);
  EXPECT_EQ(orders.level(1), SleepLevel::kHost);
  EXPECT_EQ(orders.level(2), SleepLevel::kDisk);
}

TEST_F(ResidencyOrdersTest, AWakeWithoutMemoryFailsAtOnce) {
  orders_.Begin(2, true, true);
  const ReplicaResidency failed = End();
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.residency, Residency::kAsleep);
  EXPECT_EQ(failed.took, Duration());
  EXPECT_EQ(orders_.failed(), 1);
}

TEST_F(ResidencyOrdersTest, AReplicaThatFallsAsleepStillTakesItsMemory) {
  orders_.Begin(0, false, true);
  orders_.Begin(2, true, true);
  EXPECT_TRUE(End().failed);
}

TEST_F(ResidencyOrdersTest, AnEngineThatHasWorkStaysAwake) {
  orders_.Begin(0, false, false);
  const ReplicaResidency failed = End();
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.residency, Residency::kAwake);
}

TEST_F(ResidencyOrdersTest, WakesOfOneGpuFollowOneAnother) {
  for (size_t replica : {0, 1}) {
    orders_.Begin(replica, false, true);
    End();
  }
  orders_.Begin(0, true, true);
  orders_.Begin(1, true, true);
  EXPECT_LT(End().took, Duration::Seconds(2.3));
  EXPECT_GT(End().took, Duration::Seconds(3.5));
}

TEST_F(ResidencyOrdersTest, CountsTheSecondsAsleep) {
  const double before = orders_.SecondsAsleep();
  const Instant since = events_.now();
  orders_.Begin(0, false, true);
  End();
  orders_.Begin(0, true, true);
  End();
  // The third replica slept all the time.
  EXPECT_NEAR(orders_.SecondsAsleep() - before, (events_.now() - since).seconds(), 1e-9);
}

}  // namespace
}  // namespace penstock::bench
