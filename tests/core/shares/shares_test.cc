// Limits in elastic memory, seen from outside of the core: what it admits, which limits it orders, and when.
#include "router/core/shares/shares.h"

#include <gtest/gtest.h>

#include "tests/core/shares/elastic_engines.h"

namespace penstock::testing {
namespace {

TEST(ElasticRead, TheCapacityOfAnEngineFollowsItsLimit) {
  Engines engines(2, false);
  engines.limits[0] = 5'000 * kMB;
  engines.Report();
  engines.Ask(0, 10, 1'000);
  EXPECT_EQ(engines.Running(0), 4);
  engines.limits[0] = 8'000 * kMB;
  engines.Wait(Duration::Milliseconds(250));
  engines.Report();
  EXPECT_EQ(engines.Running(0), 7) << "a higher limit lets waiting requests in";
  EXPECT_EQ(engines.Elastic(0).limit, Bytes(8'000 * kMB));
  EXPECT_TRUE(engines.all.empty()) << "reading moves nothing";
}

TEST(ElasticRead, TheMemoryOfTheGpuBoundsAllLimitsTogether) {
  Engines engines(2, false);
  engines.limits = {12'000 * kMB, 12'000 * kMB};
  engines.Report();
  // A third of the GPU is reserved by the first engine.
  engines.Send(ElasticReport{ReplicaId(0), engines.now, Bytes(12'000 * kMB), Bytes(0), Bytes(8'000 * kMB)});
  engines.Ask(1, 30, 1'000);
  EXPECT_EQ(engines.Running(1), 11);
  engines.Ask(0, 30, 1'000);
  EXPECT_EQ(engines.Running(0), 4) << "the preallocated memory counts against the memory of all";
}

TEST(ElasticRead, APromptAboveTheLimitWaitsUntilTheLimitGrows) {
  Engines engines(1, false);
  engines.limits[0] = 2'000 * kMB;
  engines.Report();
  engines.Ask(0, 1, 3'000);
  EXPECT_EQ(engines.Running(0), 0);
  engines.limits[0] = 4'000 * kMB;
  engines.Wait(Duration::Milliseconds(250));
  engines.Report();
  EXPECT_EQ(engines.Running(0), 1);
}

TEST(ElasticRead, ANewDescriptionOfTheFleetKeepsTheLimit) {
  Engines engines(2, false);
  engines.limits[0] = 5'000 * kMB;
  engines.Report();
  engines.Send(FleetChanged{ElasticFleet(2, false)});
  engines.Ask(0, 10, 1'000);
  EXPECT_EQ(engines.Running(0), 4);
}

TEST(ElasticRead, TheEnginesOwnFigureOfUseIsNotTaken) {
  Engines engines(2, false);
  engines.Report();
  // 90 % of a virtual size that nobody has.
  engines.Send(EngineReport{ReplicaId(0), engines.now, 0.9, 0, 0, 0});
  engines.Ask(0, 20, 1'000);
  EXPECT_EQ(engines.Running(0), 11);
}

TEST(ElasticManage, MovesMemoryToTheEngineThatWaits) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(0, 40, 1'000);
  EXPECT_EQ(engines.Running(0), 11);
  engines.RunFor(Duration::Seconds(10));
  EXPECT_GT(engines.limits[0], 20'000 * kMB);
  EXPECT_GT(engines.limits[1], 1'000 * kMB) << "the other keeps enough to begin";
  EXPECT_GT(engines.Running(0), 19);
}

TEST(ElasticManage, ShrinksFirstAndGrowsOnceTheShrinkIsReadBack) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(0, 40, 1'000);
  engines.RunFor(Duration::Seconds(10));
  ASSERT_GE(engines.all.size(), 2u);
  EXPECT_EQ(engines.all[0].replica, ReplicaId(1));
  EXPECT_LT(engines.all[0].limit, Bytes(12'000 * kMB));
  EXPECT_EQ(engines.all[1].replica, ReplicaId(0));
  EXPECT_GT(engines.all[1].limit, Bytes(12'000 * kMB));
}

TEST(ElasticManage, AReadingRightBehindTheOrderProvesNothing) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(0, 40, 1'000);
  while (engines.all.empty()) engines.RunFor(Duration::Milliseconds(250));
  engines.Wait(Duration::Milliseconds(20));
  EXPECT_TRUE(engines.Report().empty()) << "another writer may take the limit back in a moment";
  engines.Wait(Duration::Milliseconds(250));
  EXPECT_EQ(engines.Report().size(), 1u);
}

TEST(ElasticManage, AMomentsGapMovesNothing) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(0, 40, 1'000);
  engines.RunFor(Duration::Milliseconds(500));
  EXPECT_TRUE(engines.all.empty());
}

TEST(ElasticManage, OrdersNothingWhileDemandIsEvenOrThereIsNone) {
  Engines engines(2, true);
  engines.RunFor(Duration::Seconds(30));
  engines.Ask(0, 40, 1'000, 400);
  engines.Ask(1, 40, 1'000, 400);
  engines.RunFor(Duration::Seconds(30));
  EXPECT_TRUE(engines.all.empty()) << Text({engines.all.begin(), engines.all.end()}) << engines.Running(0) << " and "
                                   << engines.Running(1) << " run";
}

TEST(ElasticManage, NeverTakesWhatAnEngineHolds) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(1, 9, 1'000);
  engines.extra[1] = 1'000 * kMB;
  engines.Ask(0, 60, 1'000);
  engines.RunFor(Duration::Seconds(20));
  EXPECT_GE(engines.limits[1], 10'000 * kMB);
  EXPECT_GT(engines.limits[0], 12'000 * kMB);
}

TEST(ElasticManage, ALimitThatIsNotReadBackIsCountedAndTheEngineLeftAlone) {
  Engines engines(2, true);
  engines.stubborn[1] = true;
  engines.Report();
  engines.Ask(0, 40, 1'000);
  engines.RunFor(Duration::Seconds(30));
  EXPECT_EQ(engines.Elastic(1).orders, 1);
  EXPECT_EQ(engines.Elastic(1).orders_failed, 1);
  EXPECT_EQ(engines.limits[0], 12'000 * kMB) << "the memory was never freed";
  EXPECT_EQ(engines.Running(0), 11) << "and all go on as before";
  // Tried again after the pause; then the engine takes it.
  engines.stubborn[1] = false;
  engines.RunFor(Shares::kPause);
  EXPECT_GT(engines.limits[0], 20'000 * kMB);
  EXPECT_EQ(engines.Elastic(1).orders_failed, 1);
}

TEST(ElasticManage, TheCountsOfAnEngineStayWhenItIsManagedNoMore) {
  Engines engines(2, true);
  engines.stubborn[0] = true;
  engines.Report();
  engines.Ask(1, 40, 1'000, 100);
  engines.RunFor(Duration::Seconds(10));
  const ElasticView before = engines.Elastic(0);
  ASSERT_GT(before.orders, 0);
  ASSERT_GT(before.orders_failed, 0);
  for (const bool managed : {false, true}) {
    engines.Send(FleetChanged{ElasticFleet(2, managed)});
    EXPECT_EQ(engines.Elastic(0).orders, before.orders) << managed;
    EXPECT_EQ(engines.Elastic(0).orders_failed, before.orders_failed) << managed;
  }
}

TEST(ElasticManage, AnEngineThatReportsNothingKeepsItsLimit) {
  Engines engines(3, true);
  engines.limits = {8'000 * kMB, 8'000 * kMB, 8'000 * kMB};
  engines.Report();
  engines.silent = 2;
  engines.RunFor(Duration::Seconds(3));
  engines.Ask(0, 60, 1'000);
  engines.RunFor(Duration::Seconds(20));
  EXPECT_EQ(engines.limits[2], 8'000 * kMB);
  EXPECT_GT(engines.limits[0], 13'000 * kMB);
  EXPECT_EQ(engines.Elastic(2).orders, 0);
}

TEST(ElasticManage, LimitsAboveTheMemoryAreBroughtDown) {
  Fleet fleet = ElasticFleet(2, true);
  CoreStepper core(fleet);
  std::vector<int64_t> limits = {24'000 * kMB, 24'000 * kMB};
  for (int i = 0; i < 60; ++i) {
    core.Wait(Duration::Milliseconds(250));
    for (uint32_t engine = 0; engine < 2; ++engine) {
      const auto actions = core.Send(ElasticReport{ReplicaId(engine), core.now, Bytes(limits[engine]), {}, {}});
      for (const Action& action : actions) {
        if (const auto* order = std::get_if<SetShare>(&action)) limits[order->replica.value()] = order->limit.value();
      }
    }
  }
  EXPECT_LE(limits[0] + limits[1], 24'000 * kMB);
  EXPECT_GT(limits[0] + limits[1], 23'900 * kMB);
}

TEST(ElasticManage, DemandThatTurnsTakesTheMemoryBack) {
  Engines engines(2, true);
  engines.Report();
  engines.Ask(0, 40, 1'000);
  engines.RunFor(Duration::Seconds(10));
  const int64_t most = engines.limits[0];
  for (uint64_t id = 1; id <= 40; ++id) engines.Finish(id, 1);
  engines.Ask(1, 40, 1'000);
  engines.RunFor(Duration::Seconds(15));
  EXPECT_LT(engines.limits[0], most / 2);
  EXPECT_GT(engines.limits[1], 20'000 * kMB);
}

}  // namespace
}  // namespace penstock::testing
