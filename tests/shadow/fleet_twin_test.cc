#include "app/shadow/fleet_twin.h"

#include <gtest/gtest.h>

#include "tests/shadow/shadow_fleet.h"

namespace penstock {
namespace {

TEST(FleetTwin, HasTheMemoryAndTheLearnedSpeedOfEachEngine) {
  const Fleet fleet = ShadowFleet(2);
  CoreView learned;
  learned.replicas.resize(2);
  learned.replicas[1].step_factor = 4;
  learned.replicas[1].host_time = 0.05;
  const auto twin = TwinOf(fleet, learned);
  ASSERT_TRUE(twin.ok()) << twin.status();
  ASSERT_EQ(twin->replicas.size(), 2u);
  EXPECT_EQ(twin->replicas[0].limits.kv_tokens, Tokens(30'000));
  EXPECT_EQ(twin->replicas[0].limits.block, Tokens(16));
  EXPECT_DOUBLE_EQ(twin->replicas[0].coefficients.a, 10);
  EXPECT_DOUBLE_EQ(twin->replicas[1].coefficients.a, 40);
  EXPECT_EQ(twin->replicas[1].host_time, Duration::Milliseconds(50));
  EXPECT_EQ(twin->gpus.size(), 2u);
}

TEST(FleetTwin, ReplicasOfOnePoolShareTheirMemory) {
  Fleet fleet = ShadowFleet(2);
  fleet.replicas[1].pools = fleet.replicas[0].pools;
  const auto twin = TwinOf(fleet, {});
  ASSERT_TRUE(twin.ok()) << twin.status();
  EXPECT_EQ(twin->elastic.size(), 1u);
  EXPECT_EQ(twin->replicas[0].elastic, 0);
  EXPECT_EQ(twin->replicas[1].elastic, 0);
}

TEST(FleetTwin, AFatalPoolOverflowsAsItsEngineDoes) {
  Fleet fleet = ShadowFleet(1);
  fleet.pools[0].overflow_fatal = true;
  EXPECT_EQ(TwinOf(fleet, {})->replicas[0].limits.overflow, simulated::Overflow::kError);
}

TEST(FleetTwin, NamesTheReplicaWhoseMemoryIsUnknown) {
  Fleet fleet = ShadowFleet(2);
  fleet.replicas[1].pools.clear();
  EXPECT_EQ(TwinOf(fleet, {}).status().message(), "replica r1: its KV memory is unknown");
  fleet.replicas[1].removed = true;
  EXPECT_TRUE(TwinOf(fleet, {}).ok()) << "one that left needs no memory";
}

TEST(FleetTwin, DriftIsTheLargestChangeOfASpeed) {
  CoreView before;
  before.replicas.resize(2);
  CoreView now = before;
  EXPECT_DOUBLE_EQ(DriftOf(before, now), 1);
  now.replicas[1].step_factor = 0.5;
  EXPECT_DOUBLE_EQ(DriftOf(before, now), 2);
  EXPECT_DOUBLE_EQ(DriftOf({}, now), 1);
}

}  // namespace
}  // namespace penstock
