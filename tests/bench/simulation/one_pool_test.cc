#include "bench/simulation/engines/one_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::bench {
namespace {

using ::testing::ElementsAre;

// Replica 0 stands alone; 1 and 2 are the ranks of an engine.
Fleet ThreeReplicas() {
  Fleet fleet;
  for (uint32_t i = 0; i < 3; ++i) {
    fleet.pools.push_back({"", Amount(100 + i)});
    ReplicaSpec& replica = fleet.replicas.emplace_back();
    replica.pools.push_back({PoolId(i), {}});
    replica.gpus = {i};
    replica.max_sequences = 8;
    replica.batch_budget = Tokens(1000);
  }
  return fleet;
}

// One request waits at replica 1; three run on each other one.
struct Engines {
  static simulated::EngineGauges Gauges(size_t replica) {
    simulated::EngineGauges gauges;
    gauges.running = replica == 1 ? 0 : 3;
    gauges.waiting = replica == 1 ? 1 : 0;
    return gauges;
  }
};

EngineReport Reported(double share, int running) {
  EngineReport report;
  report.kv_used_share = share;
  report.running = running;
  return report;
}

TEST(OnePool, TheFirstRankHasTheMemoryRowsAndBudgetOfAll) {
  Fleet fleet = ThreeReplicas();
  const ReplicaSpec alone = fleet.replicas[0];
  const StepCoefficients rank = fleet.replicas[1].prior;
  OnePool({{1, 2}}, 3).ApplyTo(fleet);
  EXPECT_EQ(fleet.replicas[0], alone);
  EXPECT_TRUE(fleet.replicas[2].removed);
  EXPECT_EQ(fleet.pools[1].capacity, Amount(203));
  EXPECT_EQ(fleet.replicas[1].max_sequences, 16);
  EXPECT_EQ(fleet.replicas[1].batch_budget, Tokens(2000));
  EXPECT_THAT(fleet.replicas[1].gpus, ElementsAre(1, 2));
  EXPECT_EQ(fleet.replicas[1].prior.a, rank.a) << "each step begins as before";
  EXPECT_DOUBLE_EQ(fleet.replicas[1].prior.d, rank.d / 2) << "two ranks compute at the same time";
}

TEST(OnePool, TheEngineChoosesTheRankWithTheLeastLoadAndWaitingCountsFourTimes) {
  const OnePool pool({{1, 2}}, 3);
  EXPECT_EQ(pool.Choose(ReplicaId(1), Engines()), ReplicaId(2));
  EXPECT_EQ(pool.Choose(ReplicaId(0), Engines()), ReplicaId(0)) << "it is no rank";
}

TEST(OnePool, AReportIsThatOfAllRanksAndComesWithTheLast) {
  const OnePool pool({{1, 2}}, 3);
  std::vector<EngineReport> newest = {Reported(0.9, 9), Reported(-1, -1), Reported(0.4, 4)};
  EXPECT_EQ(pool.ReportOf(0, newest)->kv_used_share, 0.9);
  EXPECT_EQ(pool.ReportOf(2, newest), std::nullopt) << "one rank has told nothing yet";
  newest[1] = Reported(0.2, 2);
  EXPECT_EQ(pool.ReportOf(1, newest), std::nullopt);
  ASSERT_NE(pool.ReportOf(2, newest), std::nullopt);
  EXPECT_DOUBLE_EQ(pool.ReportOf(2, newest)->kv_used_share, 0.3);
  EXPECT_EQ(pool.ReportOf(2, newest)->running, 6);
}

TEST(OnePool, RanksAreOneProgressAndOneHealth) {
  const OnePool pool({{1, 2}}, 3);
  EXPECT_TRUE(pool.Shows(0));
  EXPECT_TRUE(pool.Shows(1));
  EXPECT_FALSE(pool.Shows(2));
  EXPECT_THAT(pool.Joined({{0}, {1}, {2}}), ElementsAre(ElementsAre(1, 2), ElementsAre(0)));
}

}  // namespace
}  // namespace penstock::bench
