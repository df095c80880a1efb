// Wakes beside TTFT goals: a request waits for a wake that is longer than its goal, and a busy model waits for another.
#include <gtest/gtest.h>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::SleepingCore;
using testing::SleepingFleet;

constexpr uint32_t kBusy = 0, kOther = 1;  // Models and their replicas.

// Replica A has requests of a tenth of a second all the time, and one of B waits.
std::vector<Action> OneWaitsBesideABusyModel(SleepingCore& core) {
  for (uint64_t id = 1; id <= 8; ++id) core.ArriveFor(id, kBusy);
  for (uint64_t id = 100; id <= 140; ++id) {
    core.ArriveFor(id, kBusy);
    core.Finish(id, 300);
  }
  core.Wait(Duration::Seconds(3));
  core.ArriveFor(20, kOther);
  return core.ArriveFor(21, kBusy);
}

TEST(Wakes, ABusyReplicaStaysForOneRequestWhereItsOwnWouldBeLate) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(2)}), 1);
  EXPECT_EQ(AllOf<Forward>(OneWaitsBesideABusyModel(core)).size(), 1u);
}

TEST(Wakes, ABusyReplicaLeavesForOneRequestWhereItsOwnCanWait) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(60)}), 1);
  EXPECT_EQ(AllOf<Park>(OneWaitsBesideABusyModel(core)).size(), 1u);
}

TEST(Wakes, ARequestWhoseGoalIsShorterThanTheWakeIsServedBehindIt) {
  SleepingCore core(SleepingFleet({.models = 1, .wake = Duration::Seconds(5), .ttft = Duration::Seconds(2)}), 0);
  EXPECT_EQ(AllOf<Wake>(core.ArriveFor(1, kBusy)).size(), 1u);
  for (int i = 0; i < 49; ++i) {
    EXPECT_TRUE(AllOf<Refuse>(core.RunTimers(core.now + Duration::Milliseconds(100))).empty()) << i;
  }
  EXPECT_EQ(AllOf<Forward>(core.Told(kBusy, Residency::kAwake, false, 5)).size(), 1u);
}

}  // namespace
}  // namespace penstock
