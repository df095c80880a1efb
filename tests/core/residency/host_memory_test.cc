// The memory of hosts for sleeping replicas: the level of each sleep, as a core shows it. Events in, orders out.
#include "router/core/residency/host_memory.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <utility>

#include "tests/core/residency/sleeping_fleet.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::SleeperOptions;
using testing::SleepingCore;
using testing::SleepingFleet;
using testing::Text;

using Sleeps = std::vector<Sleep>;

constexpr SleepLevel kHost = SleepLevel::kHost;
constexpr SleepLevel kDisk = SleepLevel::kDisk;
constexpr Duration kDropped = Duration::Seconds(20);

// Replicas with weights of 8 on GPUs of one host.
Fleet BoundedFleet(int64_t bound, const SleeperOptions& options = {.memory = 100}, bool may_drop = true) {
  Fleet fleet = SleepingFleet(options);
  for (GpuSpec& gpu : fleet.gpus) gpu.name = "node1/" + gpu.name;
  for (ReplicaSpec& replica : fleet.replicas) {
    replica.sleep->weights = Bytes(8);
    replica.sleep->may_drop = may_drop;
    replica.sleep->wake_dropped = kDropped;
  }
  if (bound > 0) fleet.hosts = {{"node1", Bytes(bound)}};
  return fleet;
}
// All awake replicas were idle for long.
std::vector<Action> Idle(SleepingCore& core) { return core.RunTimers(core.now + Duration::Seconds(31)); }
HostView HostOf(SleepingCore& core) { return core.core.View(core.now).hosts.at(0); }
Sleep At(uint32_t replica, SleepLevel level) { return {ReplicaId(replica), level}; }

// Read by the address sanitizer.
TEST(HostMemory, AReloadWithoutSleepersForgetsTheHosts) {
  Fleet fleet = BoundedFleet(16);
  SleepingCore core(fleet, 3);
  EXPECT_EQ(HostOf(core).name, "node1");
  for (ReplicaSpec& replica : fleet.replicas) replica.sleep.reset();
  fleet.hosts.clear();
  core.Send(FleetChanged{fleet});
  EXPECT_TRUE(core.core.View(core.now).hosts.empty());
}

TEST(HostMemory, WithoutABoundEachSleepIsByItsConfiguration) {
  SleepingCore core(BoundedFleet(0), 3);
  const Sleeps sleeps = AllOf<Sleep>(Idle(core));
  ASSERT_EQ(sleeps.size(), 3u);
  for (const Sleep& sleep : sleeps) EXPECT_EQ(sleep.level, SleepLevel::kUnsaid);
  EXPECT_TRUE(core.core.View(core.now).hosts.empty());
}

TEST(HostMemory, AReplicaWithoutRoomDropsItsWeights) {
  SleepingCore core(BoundedFleet(16), 3);
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost), At(1, kHost), At(2, kDisk)}));
  EXPECT_EQ(HostOf(core).used, Bytes(16));
  EXPECT_EQ(HostOf(core).sleep_memory, Bytes(16));
}

TEST(HostMemory, AReplicaThatCanDropNothingStaysAwakeWithoutRoom) {
  SleepingCore core(BoundedFleet(8, {.memory = 100}, /*may_drop=*/false), 3);
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost)}));
  EXPECT_EQ(HostOf(core).lacking, 2);
  const std::optional<Instant> next = core.core.NextDeadline();
  EXPECT_TRUE(!next || *next > core.now + Duration::Seconds(60)) << "nothing is asked again before an event";
}

TEST(HostMemory, ABoundBelowOneModelLeavesNothingToTheHost) {
  SleepingCore core(BoundedFleet(7), 2);
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kDisk), At(1, kDisk)}));
  SleepingCore fixed(BoundedFleet(7, {.memory = 100}, /*may_drop=*/false), 2);
  EXPECT_TRUE(AllOf<Sleep>(Idle(fixed)).empty());
}

TEST(HostMemory, AnEngineHoldsItsMemoryWhileItIsAwake) {
  SleepingCore core(BoundedFleet(8, {.models = 2, .memory = 100}), 2);
  ASSERT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost), At(1, kDisk)}));
  core.Told(0, Residency::kAsleep, false, 1);
  core.Told(1, Residency::kAsleep, false, 1);
  for (const uint32_t model : {0u, 1u}) {
    core.ArriveFor(1 + model, model);
    core.Wait(Duration::Seconds(1));
    core.Told(model, Residency::kAwake, false, 1);
    core.Finish(1 + model, 10);
  }
  EXPECT_EQ(HostOf(core).used, Bytes(8)) << "pinned memory stays with the engine";
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost), At(1, kDisk)})) << "each as before";
}

TEST(HostMemory, AnEngineThatStartedAnewHoldsNothing) {
  SleepingCore core(BoundedFleet(8, {.models = 2, .memory = 100}), 2);
  Idle(core);
  core.Told(0, Residency::kAsleep, false, 1);
  core.Told(1, Residency::kAsleep, false, 1);
  core.Send(ReplicaHealth{ReplicaId(0), Health::kDown});
  EXPECT_EQ(HostOf(core).used, Bytes(8)) << "an engine that does not answer may live on";
  core.Send(ReplicaHealth{ReplicaId(0), Health::kUp});
  EXPECT_EQ(HostOf(core).used, Bytes(8)) << "it sleeps still";
  core.Told(0, Residency::kAwake);
  EXPECT_EQ(HostOf(core).used, Bytes(0)) << "nobody woke it: it is another process";
}

TEST(HostMemory, ASleepThatFailsTakesNothing) {
  SleepingCore core(BoundedFleet(8, {.models = 1, .memory = 100}), 1);
  ASSERT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost)}));
  EXPECT_EQ(HostOf(core).used, Bytes(8)) << "while it falls asleep";
  core.Told(0, Residency::kAwake, /*failed=*/true, 1);
  EXPECT_EQ(HostOf(core).used, Bytes(0));
}

TEST(HostMemory, AReplicaThatWasFoundAsleepCountsByTheWordOfItsEngine) {
  SleepingCore core(BoundedFleet(16), 3);
  core.Send(ReplicaResidency{ReplicaId(0), Residency::kAsleep, false, {}, kDisk});
  EXPECT_EQ(HostOf(core).used, Bytes(0));
  core.Send(ReplicaResidency{ReplicaId(1), Residency::kAsleep, false, {}, kHost});
  EXPECT_EQ(HostOf(core).used, Bytes(8));
  core.Told(2, Residency::kAsleep);
  EXPECT_EQ(HostOf(core).used, Bytes(16)) << "one that does not tell may hold memory";
  core.Send(ReplicaResidency{ReplicaId(2), Residency::kAsleep, false, {}, kDisk});
  EXPECT_EQ(HostOf(core).used, Bytes(8)) << "it tells the level later";
  const CoreView view = core.core.View(core.now);
  EXPECT_EQ(view.replicas[0].wake_time, kDropped.seconds());
  EXPECT_EQ(view.replicas[1].wake_time, 1);
  EXPECT_EQ(view.replicas[2].wake_time, kDropped.seconds());
}

TEST(HostMemory, ALowerBoundTakesNothingAway) {
  SleepingCore core(BoundedFleet(24), 3);
  core.Told(0, Residency::kAsleep, false, 0);
  ASSERT_EQ(AllOf<Sleep>(Idle(core)).size(), 2u);
  core.Told(1, Residency::kAsleep, false, 1);
  core.Told(2, Residency::kAwake, true, 1);
  Fleet lower = BoundedFleet(4);
  core.Send(FleetChanged{lower});
  EXPECT_EQ(HostOf(core).used, Bytes(16));
  EXPECT_EQ(core.ResidencyOf(1), Residency::kAsleep);
  core.ArriveFor(1, 1);
  core.Wait(Duration::Seconds(1));
  core.Told(1, Residency::kAwake, false, 1);
  core.Finish(1, 10);
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(2, kDisk), At(1, kHost)})) << "what an engine holds costs no more";
}

TEST(HostMemory, ABoundThatComesLaterCountsThoseWhoSleepAlready) {
  SleepingCore core(BoundedFleet(0), 3);
  Idle(core);
  for (const uint32_t replica : {0u, 1u}) core.Told(replica, Residency::kAsleep, false, 1);
  core.Send(FleetChanged{BoundedFleet(16)});
  EXPECT_EQ(HostOf(core).used, Bytes(24)) << "one falls asleep";
}

TEST(HostMemory, AReplicaTakesMemoryOfEachHostOfItsGpus) {
  Fleet fleet = BoundedFleet(0, {.models = 2, .gpus = 3, .memory = 100});
  fleet.gpus[2].name = "node2/gpu0";
  fleet.replicas[0].gpus = {0, 1, 2};
  fleet.hosts = {{"node2", Bytes(8)}, {"node1", Bytes(16)}, {"node", Bytes(1)}};
  SleepingCore core(fleet, 2);
  EXPECT_EQ(AllOf<Sleep>(Idle(core)), (Sleeps{At(0, kHost), At(1, kDisk)}));
  const CoreView view = core.core.View(core.now);
  EXPECT_EQ(view.hosts[0].used, Bytes(8));
  EXPECT_EQ(view.hosts[1].used, Bytes(16));
  EXPECT_EQ(view.hosts[2].used, Bytes(0)) << "node is no name of node1";
}

TEST(HostMemory, TheValueOfALeaverCountsTheWakeOfItsLevel) {
  // A holds memory of the host; B would have to drop its weights, and is asked for less.
  SleepingCore core(BoundedFleet(8, {.memory = 20}), 2);
  core.Send(ReplicaResidency{ReplicaId(0), Residency::kAsleep, false, {}, kHost});
  core.Told(0, Residency::kAwake);
  for (const auto& [id, model] : {std::pair(1u, 0u), {2u, 0u}, {3u, 1u}}) {
    core.ArriveFor(id, model);
    core.Finish(id, 100);
  }
  core.Wait(Duration::Seconds(5));
  const std::vector<Action> arrived = core.ArriveFor(4, 2);
  EXPECT_EQ(AllOf<Sleep>(arrived), (Sleeps{At(0, kHost)})) << Text(arrived);
}

TEST(HostMemory, ALeaverWithoutAPlaceForItsWeightsIsNoLeaver) {
  SleepingCore core(BoundedFleet(8, {.memory = 20}, /*may_drop=*/false), 2);
  core.Wait(Duration::Seconds(5));
  const std::vector<Action> arrived = core.ArriveFor(1, 2);
  EXPECT_TRUE(AllOf<Sleep>(arrived).empty()) << Text(arrived);
}

// Whatever comes, no order takes memory of the host beyond the bound.
TEST(HostMemory, NoOrderExceedsTheBound) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    Fleet fleet = BoundedFleet(20, {.models = 6, .memory = 30});
    for (ReplicaSpec& replica : fleet.replicas) {
      replica.sleep->weights = Bytes(4 + draw(8));
      replica.sleep->may_drop = draw(3) > 0;
    }
    SleepingCore core(fleet, 3);
    std::vector<SleepLevel> level(6, SleepLevel::kUnsaid);
    Bytes found(0);
    for (uint32_t i = 3; i < 6; ++i) found += fleet.replicas[i].sleep->weights;
    for (uint64_t id = 1; id <= 300; ++id) {
      const std::vector<Action> actions =
          draw(2) > 0 ? core.ArriveFor(id, draw(6)) : core.RunTimers(core.now + Duration::Milliseconds(draw(9000)));
      for (const Sleep& sleep : AllOf<Sleep>(actions)) {
        ASSERT_NE(sleep.level, SleepLevel::kUnsaid) << "seed " << seed;
        ASSERT_TRUE(sleep.level == kHost || fleet.replicas[sleep.replica.value()].sleep->may_drop) << "seed " << seed;
      }
      ASSERT_LE(HostOf(core).used, std::max(found, Bytes(20))) << "seed " << seed << " step " << id;
      for (const Forward& forward : AllOf<Forward>(actions)) core.Finish(forward.request.value(), 20);
      const CoreView view = core.core.View(core.now);
      for (uint32_t i = 0; i < 6; ++i) {
        const bool fails = draw(10) == 0;
        if (view.replicas[i].residency == Residency::kWaking && draw(3) == 0) {
          core.Told(i, fails ? Residency::kAsleep : Residency::kAwake, fails, 1);
        } else if (view.replicas[i].residency == Residency::kFallingAsleep && draw(3) == 0) {
          core.Told(i, fails ? Residency::kAwake : Residency::kAsleep, fails, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
