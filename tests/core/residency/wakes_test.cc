// Wakes beside TTFT goals, and beside replicas that do not fall asleep. A request waits for a wake that is longer than
// its goal. A busy model waits for another.
#include <gtest/gtest.h>

#include "router/core/residency/resident.h"
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

bool FallsAsleep(const std::vector<Action>& actions) {
  const std::vector<Sleep> sleeps = AllOf<Sleep>(actions);
  return sleeps.size() == 1 && sleeps[0].replica == ReplicaId(kBusy);
}

TEST(Wakes, WhereNoReplicaFallsAsleepTheRequestsOfAnotherModelAreRefused) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(100)}), 1);
  core.Wait(Duration::Seconds(5));
  ASSERT_TRUE(FallsAsleep(core.ArriveFor(1, kOther)));
  core.Told(kBusy, Residency::kAwake, true, 1);
  const std::vector<Action> later = core.RunTimers(core.now + Duration::Seconds(Resident::kFirstPause));
  ASSERT_TRUE(FallsAsleep(later)) << "one failure is no proof: the request waits";
  EXPECT_TRUE(AllOf<Refuse>(later).empty());
  std::vector<Refuse> refusals = AllOf<Refuse>(core.Told(kBusy, Residency::kAwake, true, 1));
  for (const Refuse& refuse : AllOf<Refuse>(core.RunTimers(core.now + Duration::Milliseconds(1))))
    refusals.push_back(refuse);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].reason, Refusal::kNoReplica);
  EXPECT_TRUE(refusals[0].unwoken);
  EXPECT_EQ(AllOf<Refuse>(core.ArriveFor(2, kOther)).size(), 1u);
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(3, kBusy)).size(), 1u) << "it serves its own model";
  core.Finish(3, 5);
  core.RunTimers(core.now + Duration::Seconds(2 * Resident::kFirstPause));
  EXPECT_TRUE(FallsAsleep(core.ArriveFor(4, kOther))) << "it is tried again after a pause";
  EXPECT_EQ(AllOf<Wake>(core.Told(kBusy, Residency::kAsleep, false, 1)).size(), 1u);
}

std::vector<Action> TellHealth(SleepingCore& core, uint32_t replica, Health health) {
  return core.Send(ReplicaHealth{ReplicaId(replica), health});
}

TEST(Wakes, AnIdleReplicaThatDrainsLeavesForAnotherModel) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(100)}), 1);
  TellHealth(core, kBusy, Health::kDraining);
  EXPECT_TRUE(FallsAsleep(core.ArriveFor(1, kOther)));
  EXPECT_EQ(AllOf<Wake>(core.Told(kBusy, Residency::kAsleep, false, 1)).size(), 1u);
  EXPECT_EQ(AllOf<Refuse>(core.ArriveFor(2, kBusy)).size(), 1u) << "it is not woken while it drains";
}

TEST(Wakes, AReplicaThatDrainsEndsItsRequestsBeforeItLeaves) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(100)}), 1);
  core.ArriveFor(1, kBusy);
  TellHealth(core, kBusy, Health::kDraining);
  EXPECT_TRUE(AllOf<Sleep>(core.ArriveFor(2, kOther)).empty());
  EXPECT_TRUE(FallsAsleep(core.Finish(1, 50)));
}

TEST(Wakes, AReplicaThatDrainsSleepsAfterItsTime) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 1);
  TellHealth(core, kBusy, Health::kDraining);
  EXPECT_TRUE(FallsAsleep(core.RunTimers(core.now + Duration::Seconds(31))));
}

TEST(Wakes, WhereTheMemoryIsWithAReplicaThatIsDownForLongTheRequestsOfAnotherModelAreRefused) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(100)}), 1);
  core.Wait(Duration::Seconds(5));
  TellHealth(core, kBusy, Health::kDown);
  EXPECT_EQ(AllOf<Park>(core.ArriveFor(1, kOther)).size(), 1u) << "it may come back in a moment";
  EXPECT_TRUE(AllOf<Refuse>(core.RunTimers(core.now + Duration::Seconds(4.9))).empty());
  const std::vector<Refuse> refusals = AllOf<Refuse>(core.RunTimers(core.now + Duration::Seconds(0.2)));
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_TRUE(refusals[0].unwoken);
  EXPECT_EQ(AllOf<Refuse>(core.ArriveFor(2, kOther)).size(), 1u);
  EXPECT_TRUE(AllOf<Wake>(core.Told(kBusy, Residency::kAsleep)).empty());
  EXPECT_EQ(AllOf<Wake>(core.ArriveFor(3, kOther)).size(), 1u) << "the process of the other one has ended";
}

TEST(Wakes, AFailedWakeThatIsNotPutBackKeepsItsMemoryFromOthers) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10, .ttft = Duration::Seconds(100)}), 0);
  ASSERT_EQ(AllOf<Wake>(core.ArriveFor(1, kBusy)).size(), 1u);
  core.ArriveFor(2, kOther);
  core.Told(kBusy, Residency::kWaking, true, 1);
  core.RunTimers(core.now + Duration::Milliseconds(1));
  const std::vector<Action> other = core.ArriveFor(3, kOther);
  ASSERT_EQ(AllOf<Refuse>(other).size(), 1u) << "an answer at once";
  EXPECT_TRUE(AllOf<Refuse>(other)[0].unwoken);
  core.Told(kBusy, Residency::kAsleep, false, 1);
  EXPECT_EQ(AllOf<Wake>(core.ArriveFor(4, kOther)).size(), 1u) << "it was put back";
}

TEST(Wakes, AnEngineThatDiesOfItsFirstRequestIsNotWokenAgainAtOnce) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 0);
  for (const uint64_t id : {1u, 3u}) {
    ASSERT_EQ(AllOf<Wake>(core.ArriveFor(id, kBusy)).size(), 1u);
    ASSERT_EQ(AllOf<Forward>(core.Told(kBusy, Residency::kAwake, false, 1)).size(), 1u);
    core.Send(RequestClosed{RequestId(id), Outcome::kEngineFailed});
    core.Told(kBusy, Residency::kAsleep);
    const std::vector<Action> next = core.ArriveFor(id + 1, kBusy);
    ASSERT_EQ(AllOf<Refuse>(next).size(), 1u);
    EXPECT_TRUE(AllOf<Refuse>(next)[0].unwoken);
    core.RunTimers(core.now + Duration::Seconds(Resident::kFirstPause * static_cast<double>(id)));
  }
  ASSERT_EQ(AllOf<Wake>(core.ArriveFor(5, kBusy)).size(), 1u);
  core.Told(kBusy, Residency::kAwake, false, 1);
  core.Finish(5, 10);
  core.Told(kBusy, Residency::kAsleep);
  EXPECT_EQ(AllOf<Wake>(core.ArriveFor(6, kBusy)).size(), 1u) << "it finished a request";
}

TEST(Wakes, AReplicaWhoseEngineEndedWhileItSleptIsNotWoken) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 1);
  TellHealth(core, kOther, Health::kDown);
  core.Wait(Duration::Seconds(10));
  const std::vector<Action> arrived = core.ArriveFor(1, kOther);
  EXPECT_EQ(AllOf<Refuse>(arrived).size(), 1u);
  EXPECT_TRUE(AllOf<Sleep>(arrived).empty()) << "nobody leaves for it";
}

}  // namespace
}  // namespace penstock
