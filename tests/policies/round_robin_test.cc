#include "router/policies/balancers/round_robin.h"

#include <gtest/gtest.h>

#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

TEST(RoundRobin, ReplicasTakeTurnsWhateverTheyReport) {
  RivalOf<RoundRobin> policy;
  Stepper step(policy);
  step.Start(SmallFleet(3));
  step.Report(1, 1, 1.0, 100);

  for (uint64_t id = 0; id < 6; ++id) {
    EXPECT_EQ(Only<Forward>(step.Arrive(1, id + 1))->replica, ReplicaId(static_cast<uint32_t>(id % 3)));
  }
}

TEST(RoundRobin, ADownReplicaIsPassedOver) {
  RivalOf<RoundRobin> policy;
  Stepper step(policy);
  step.Start(SmallFleet(3));
  step.At(1, ReplicaHealth{ReplicaId(1), Health::kDown});

  EXPECT_EQ(Only<Forward>(step.Arrive(1, 1))->replica, ReplicaId(0));
  EXPECT_EQ(Only<Forward>(step.Arrive(1, 2))->replica, ReplicaId(2));
  EXPECT_EQ(Only<Forward>(step.Arrive(1, 3))->replica, ReplicaId(0));
}

TEST(RoundRobin, ModelsHaveTurnsOfTheirOwn) {
  RivalOf<RoundRobin> policy;
  Stepper step(policy);
  step.Start(SmallFleet(2));

  EXPECT_EQ(Only<Forward>(step.Arrive(1, 1))->replica, ReplicaId(0));
  EXPECT_EQ(Only<Forward>(step.Arrive(1, 2, 100, 0, 1))->replica, ReplicaId(2));
  EXPECT_EQ(Only<Forward>(step.Arrive(1, 3))->replica, ReplicaId(1));
}

}  // namespace
}  // namespace penstock
