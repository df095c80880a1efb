// The rules of sleeping replicas, as a core shows them: events in, orders out.
#include "router/core/residency/residents.h"

#include <gtest/gtest.h>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::SleepingCore;
using testing::SleepingFleet;
using testing::Text;

constexpr uint32_t kA = 0, kB = 1, kC = 2;  // Models and their replicas.

std::vector<uint32_t> Woken(const std::vector<Action>& actions) {
  std::vector<uint32_t> replicas;
  for (const Wake& wake : AllOf<Wake>(actions)) replicas.push_back(wake.replica.value());
  return replicas;
}
std::vector<uint32_t> PutToSleep(const std::vector<Action>& actions) {
  std::vector<uint32_t> replicas;
  for (const Sleep& sleep : AllOf<Sleep>(actions)) replicas.push_back(sleep.replica.value());
  return replicas;
}
using Replicas = std::vector<uint32_t>;

TEST(Residents, ARequestOfASleepingModelWaitsForItsWake) {
  SleepingCore core(SleepingFleet({}), 0);
  const std::vector<Action> arrived = core.ArriveFor(1, kC);
  ASSERT_EQ(AllOf<Park>(arrived).size(), 1u) << Text(arrived);
  EXPECT_EQ(AllOf<Park>(arrived)[0].reason, WaitReason::kWaking);
  EXPECT_EQ(Woken(arrived), Replicas{kC});
  EXPECT_EQ(core.core.WaitOf(RequestId(1))->reason, WaitReason::kWaking);
  core.Wait(Duration::Seconds(1));
  const std::vector<Action> awake = core.Told(kC, Residency::kAwake, false, 1);
  ASSERT_EQ(AllOf<Forward>(awake).size(), 1u) << Text(awake);
  EXPECT_EQ(AllOf<Forward>(awake)[0].replica, ReplicaId(kC));
}

TEST(Residents, ASecondRequestOrdersNoSecondWake) {
  SleepingCore core(SleepingFleet({}), 0);
  core.ArriveFor(1, kC);
  EXPECT_TRUE(Woken(core.ArriveFor(2, kC)).empty());
  EXPECT_TRUE(Woken(core.RunTimers(core.now + Duration::Seconds(1))).empty());
}

TEST(Residents, AWakeBeginsOnceAnotherHasGivenItsMemoryBack) {
  SleepingCore core(SleepingFleet({}), 2);
  core.Wait(Duration::Seconds(5));
  const std::vector<Action> arrived = core.ArriveFor(1, kC);
  EXPECT_TRUE(Woken(arrived).empty()) << Text(arrived);
  ASSERT_EQ(PutToSleep(arrived).size(), 1u) << Text(arrived);
  const uint32_t leaver = PutToSleep(arrived)[0];
  EXPECT_EQ(Woken(core.Told(leaver, Residency::kAsleep, false, 0.5)), Replicas{kC});
}

TEST(Residents, TheLeastValuableIdleReplicaLeaves) {
  SleepingCore core(SleepingFleet({}), 2);
  for (uint64_t id = 1; id <= 5; ++id) {
    core.ArriveFor(id, kA);
    core.Finish(id, 100);
  }
  core.ArriveFor(6, kB);
  core.Finish(6, 100);
  core.Wait(Duration::Seconds(5));
  EXPECT_EQ(PutToSleep(core.ArriveFor(7, kC)), Replicas{kB});
}

TEST(Residents, AnIdleReplicaLeavesBeforeABusyOne) {
  SleepingCore core(SleepingFleet({}), 2);
  for (uint64_t id = 1; id <= 5; ++id) {
    core.ArriveFor(id, kA);
    core.Finish(id, 100);
  }
  core.ArriveFor(6, kB);
  core.Wait(Duration::Seconds(5));
  EXPECT_EQ(PutToSleep(core.ArriveFor(7, kC)), Replicas{kA});
}

TEST(Residents, ABusyReplicaIsDrainedForDemandThatIsWorthClearlyMore) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 1);
  core.ArriveFor(1, kA);
  core.Wait(Duration::Seconds(5));
  for (uint64_t id = 10; id < 40; ++id) core.ArriveFor(id, kB);
  const std::vector<Action> later = core.ArriveFor(2, kA);
  ASSERT_EQ(AllOf<Park>(later).size(), 1u) << "it gets nothing new: " << Text(later);
  EXPECT_EQ(PutToSleep(core.Finish(1, 50)), Replicas{kA}) << "what ran has ended";
  EXPECT_EQ(Woken(core.Told(kA, Residency::kAsleep, false, 0.5)), Replicas{kB});
}

TEST(Residents, AnIdleReplicaTakesThePlaceOfABusyOneThatDrains) {
  SleepingCore core(SleepingFleet({}), 2);
  core.ArriveFor(1, kA);
  core.ArriveFor(2, kB);
  core.Wait(Duration::Seconds(5));
  for (uint64_t id = 10; id < 40; ++id) EXPECT_TRUE(PutToSleep(core.ArriveFor(id, kC)).empty());
  EXPECT_EQ(PutToSleep(core.Finish(2, 50)), Replicas{kB}) << "whichever of them was to leave";
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(3, kA)).size(), 1u) << "the other one stays";
}

TEST(Residents, WhereTimeIsShortTheQuickestLeaves) {
  // Falling asleep takes as long as waking until it was measured. A is worth less than B, and slow.
  Fleet fleet = SleepingFleet({.wake = Duration::Seconds(1), .ttft = Duration::Seconds(3)});
  fleet.replicas[kA].sleep->wake = Duration::Seconds(8);
  SleepingCore core(fleet, 2);
  core.ArriveFor(1, kB);
  core.Finish(1, 100);
  core.Wait(Duration::Seconds(20));
  EXPECT_EQ(PutToSleep(core.ArriveFor(2, kC)), Replicas{kB});
}

TEST(Residents, AnIdleReplicaLeavesAheadOfDemandForModelsThatAreAskedForMore) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 0);
  for (uint64_t id = 1; id <= 20; ++id) {
    core.ArriveFor(id, kB);
    if (id == 1) core.Told(kB, Residency::kAwake, false, 1);
    core.Finish(id, 200);
  }
  core.Wait(Duration::Seconds(3));
  EXPECT_EQ(PutToSleep(core.ArriveFor(30, kA)), Replicas{kB});
  core.Told(kB, Residency::kAsleep, false, 0.5);
  core.Told(kA, Residency::kAwake, false, 1);
  core.Finish(30, 10);
  EXPECT_EQ(PutToSleep(core.RunTimers(core.now + Duration::Seconds(5))), Replicas{kA}) << "before its own 30 s";
  EXPECT_TRUE(AllOf<Wake>(core.Told(kA, Residency::kAsleep, false, 0.5)).empty());
  EXPECT_EQ(Woken(core.ArriveFor(31, kB)), Replicas{kB}) << "at once";
}

TEST(Residents, NobodyLeavesWithinItsLeastStay) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 0);
  core.ArriveFor(1, kA);
  core.Wait(Duration::Seconds(1));
  core.Told(kA, Residency::kAwake, false, 1);
  core.Finish(1, 10);
  EXPECT_TRUE(PutToSleep(core.ArriveFor(2, kB)).empty());
  const Instant settled = core.now + Duration::Seconds(Resident::kLeastStay);
  EXPECT_TRUE(PutToSleep(core.RunTimers(settled - Duration::Milliseconds(1))).empty());
  EXPECT_EQ(PutToSleep(core.RunTimers(settled + Duration::Milliseconds(200))), Replicas{kA});
}

TEST(Residents, AWakeThatNobodyWaitsForAnyMoreDoesNotBegin) {
  SleepingCore core(SleepingFleet({.models = 2, .memory = 10}), 1);
  core.ArriveFor(1, kA);
  core.Wait(Duration::Seconds(5));
  for (uint64_t id = 10; id < 40; ++id) core.ArriveFor(id, kB);
  ASSERT_TRUE(AllOf<Forward>(core.ArriveFor(2, kA)).empty()) << "it drains";
  for (uint64_t id = 10; id < 40; ++id) core.Send(RequestClosed{RequestId(id), Outcome::kClientGone});
  const std::vector<Action> again = core.RunTimers(core.now + Duration::Milliseconds(1));
  ASSERT_EQ(AllOf<Forward>(again).size(), 1u) << "it takes requests again: " << Text(again);
  EXPECT_TRUE(PutToSleep(core.Finish(1, 50)).empty());
}

TEST(Residents, AReplicaThatWasIdleForItsTimeSleepsByItself) {
  SleepingCore core(SleepingFleet({}), 1);
  core.ArriveFor(1, kA);
  core.Wait(Duration::Seconds(100));
  core.Finish(1, 10);
  const Instant idle_since = core.now;
  EXPECT_TRUE(PutToSleep(core.RunTimers(idle_since + Duration::Seconds(29.9))).empty());
  EXPECT_EQ(PutToSleep(core.RunTimers(idle_since + Duration::Seconds(30.1))), Replicas{kA});
}

TEST(Residents, AFailedWakeIsAnErrorOfThatModelOnly) {
  SleepingCore core(SleepingFleet({}), 1);
  core.ArriveFor(1, kC);
  const std::vector<Action> failed = core.Told(kC, Residency::kAsleep, true, 1);
  const std::vector<Action> refused = core.RunTimers(core.now + Duration::Milliseconds(1));
  std::vector<Refuse> refusals = AllOf<Refuse>(failed);
  for (const Refuse& refuse : AllOf<Refuse>(refused)) refusals.push_back(refuse);
  ASSERT_EQ(refusals.size(), 1u) << Text(failed) << Text(refused);
  EXPECT_TRUE(refusals[0].unwoken);
  const std::vector<Action> next = core.ArriveFor(2, kC);
  ASSERT_EQ(AllOf<Refuse>(next).size(), 1u) << Text(next);
  EXPECT_EQ(AllOf<Refuse>(next)[0].reason, Refusal::kNoReplica);
  EXPECT_TRUE(AllOf<Refuse>(next)[0].unwoken);
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(3, kA)).size(), 1u);
  core.RunTimers(core.now + Duration::Seconds(Resident::kFirstPause));
  EXPECT_EQ(Woken(core.ArriveFor(4, kC)), Replicas{kC}) << "it is tried again after a pause";
}

TEST(Residents, AfterAFailedWakeAnotherServerOfTheModelWakes) {
  SleepingCore core(SleepingFleet({.models = 2, .gpus = 2, .copies = true}), 0);
  const std::vector<Action> first = core.ArriveFor(1, kB);
  ASSERT_EQ(Woken(first), Replicas{1});
  EXPECT_EQ(Woken(core.Told(1, Residency::kAsleep, true, 1)), Replicas{3}) << "the copy on the other GPU";
  EXPECT_EQ(AllOf<Forward>(core.Told(3, Residency::kAwake, false, 1)).size(), 1u);
}

TEST(Residents, AWakeWhoseEndIsLostIsGivenUp) {
  SleepingCore core(SleepingFleet({.ttft = Duration::Seconds(1000)}), 0);
  core.ArriveFor(1, kC);
  for (const Refuse& refuse : AllOf<Refuse>(core.RunTimers(core.now + Duration::Seconds(899.9)))) {
    EXPECT_NE(refuse.reason, Refusal::kNoReplica) << "it may still wake";
  }
  core.RunTimers(core.now + Duration::Seconds(0.2));
  const std::vector<Action> refused = core.ArriveFor(2, kC);
  ASSERT_EQ(AllOf<Refuse>(refused).size(), 1u) << Text(refused);
  EXPECT_EQ(AllOf<Refuse>(refused)[0].reason, Refusal::kNoReplica);
  EXPECT_TRUE(AllOf<Refuse>(refused)[0].unwoken);
}

TEST(Residents, AFailedSleepLetsTheNextIdleOneLeave) {
  SleepingCore core(SleepingFleet({}), 2);
  core.Wait(Duration::Seconds(5));
  const Replicas first = PutToSleep(core.ArriveFor(1, kC));
  ASSERT_EQ(first.size(), 1u);
  const std::vector<Action> failed = core.Told(first[0], Residency::kAwake, true, 1);
  EXPECT_EQ(PutToSleep(failed), Replicas{1 - first[0]}) << Text(failed);
}

TEST(Residents, TheExpectedWakeCountsForLateness) {
  // A first token takes 15 ms. Memory is taken by a replica that never sleeps.
  Fleet fleet = SleepingFleet({.models = 2, .memory = 10, .wake = Duration::Seconds(4)});
  fleet.replicas[kA].sleep.reset();
  SleepingCore core(fleet, 0);
  core.ArriveFor(1, kB);
  const Instant last_chance = core.now + Duration::Seconds(10 - 4);
  EXPECT_TRUE(AllOf<Refuse>(core.RunTimers(last_chance - Duration::Milliseconds(50))).empty());
  const std::vector<Action> late = core.RunTimers(last_chance);
  ASSERT_EQ(AllOf<Refuse>(late).size(), 1u) << Text(late);
  EXPECT_EQ(AllOf<Refuse>(late)[0].reason, Refusal::kDeadlineUnreachable);
}

TEST(Residents, ARequestThatNoWakeCouldServeInTimeIsServedAllTheSame) {
  SleepingCore core(SleepingFleet({.wake = Duration::Seconds(20)}), 0);
  EXPECT_EQ(Woken(core.ArriveFor(1, kC)), Replicas{kC});
  EXPECT_TRUE(AllOf<Refuse>(core.RunTimers(core.now + Duration::Seconds(19))).empty());
  EXPECT_EQ(AllOf<Forward>(core.Told(kC, Residency::kAwake, false, 20)).size(), 1u);
}

TEST(Residents, AModelBeyondItsAwakeReplicaWakesACopyElsewhere) {
  Fleet fleet = SleepingFleet({.models = 1, .gpus = 2, .copies = true});
  for (ReplicaSpec& replica : fleet.replicas) replica.max_sequences = 1;
  SleepingCore core(fleet, 1);
  core.ArriveFor(1, kA);
  EXPECT_TRUE(Woken(core.ArriveFor(2, kA)).empty()) << "a moment is no reason";
  EXPECT_EQ(Woken(core.RunTimers(core.now + Duration::Seconds(6))), Replicas{1});
}

TEST(Residents, AGpuOfUnknownMemoryGatesNothing) {
  Fleet fleet = SleepingFleet({});
  fleet.gpus.clear();
  SleepingCore core(fleet, 2);
  const std::vector<Action> arrived = core.ArriveFor(1, kC);
  EXPECT_EQ(Woken(arrived), Replicas{kC});
  EXPECT_TRUE(PutToSleep(arrived).empty());
}

TEST(Residents, AReplicaWithoutSleepIsAlwaysAwakeAndKeepsItsMemory) {
  Fleet fleet = SleepingFleet({.models = 2, .memory = 10});
  fleet.replicas[kA].sleep.reset();
  SleepingCore core(fleet, 0);
  EXPECT_TRUE(core.Told(kA, Residency::kAsleep).empty());
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(1, kA)).size(), 1u);
  const std::vector<Action> arrived = core.ArriveFor(2, kB);
  EXPECT_TRUE(Woken(arrived).empty() && PutToSleep(arrived).empty()) << Text(arrived);
}

TEST(Residents, AReloadWithoutSleepMakesTheReplicaAnOrdinaryOne) {
  Fleet fleet = SleepingFleet({});
  SleepingCore core(fleet, 0);
  for (ReplicaSpec& replica : fleet.replicas) replica.sleep.reset();
  core.Send(FleetChanged{fleet});
  EXPECT_EQ(AllOf<Forward>(core.ArriveFor(1, kC)).size(), 1u);
  EXPECT_FALSE(core.core.View(core.now).replicas[kC].sleeps);
}

TEST(Residents, TheViewShowsWhatSleepsAndWhatWasOrdered) {
  SleepingCore core(SleepingFleet({}), 2);
  core.Wait(Duration::Seconds(5));
  const Replicas leaver = PutToSleep(core.ArriveFor(1, kC));
  core.Told(leaver[0], Residency::kAsleep, false, 0.5);
  core.Told(kC, Residency::kAwake, false, 3);
  const CoreView view = core.core.View(core.now);
  EXPECT_EQ(view.replicas[leaver[0]].residency, Residency::kAsleep);
  EXPECT_EQ(view.replicas[leaver[0]].sleeps_ordered, 1);
  EXPECT_EQ(view.replicas[kC].residency, Residency::kAwake);
  EXPECT_EQ(view.replicas[kC].wakes_ordered, 1);
  EXPECT_EQ(view.replicas[kC].wake_time, 3);
}

}  // namespace
}  // namespace penstock
