// Requests that go on from what a sleeping replica keeps: that replica wakes, and no other for them.
#include <gtest/gtest.h>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::SleeperOptions;
using testing::SleepingCore;
using testing::SleepingFleet;
using testing::Text;

RequestArrived OfHome(uint64_t id, uint32_t home) {
  RequestArrived event;
  event.request = RequestId(id);
  event.model = ModelId(0);
  event.service_class = ClassId(1);
  event.prompt = Tokens(100);
  event.home = ReplicaId(home);
  return event;
}

// One model with a replica on each of two GPUs.
Fleet TwoHomes() {
  SleeperOptions options;
  options.models = 1;
  options.gpus = 2;
  options.copies = true;
  return SleepingFleet(options);
}

TEST(HomeWake, TheHomeOfARequestWakesAndNoOther) {
  SleepingCore core(TwoHomes(), 0);
  const std::vector<Action> arrived = core.Send(OfHome(1, 1));
  ASSERT_EQ(AllOf<Wake>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<Wake>(arrived)[0].replica, ReplicaId(1));
  const std::vector<Action> awake = core.Told(1, Residency::kAwake);
  ASSERT_EQ(AllOf<Forward>(awake).size(), 1u) << Text(awake);
  EXPECT_EQ(AllOf<Forward>(awake)[0].replica, ReplicaId(1));
}

TEST(HomeWake, AnIdleReplicaOfItsModelLeavesForIt) {
  Fleet fleet = TwoHomes();
  fleet.replicas[1].gpus = {0};
  fleet.gpus[0].memory = Bytes(10);  // The GPU holds one of them.
  SleepingCore core(fleet, 1);
  core.Wait(Duration::Seconds(20));
  const std::vector<Action> arrived = core.Send(OfHome(1, 1));
  ASSERT_EQ(AllOf<Sleep>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<Sleep>(arrived)[0].replica, ReplicaId(0));
  const std::vector<Action> left = core.Told(0, Residency::kAsleep);
  ASSERT_EQ(AllOf<Wake>(left).size(), 1u) << Text(left);
  EXPECT_EQ(AllOf<Wake>(left)[0].replica, ReplicaId(1));
}

}  // namespace
}  // namespace penstock
