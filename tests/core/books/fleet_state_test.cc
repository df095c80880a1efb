#include "router/core/books/fleet_state.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions Two(bool shared_gpu, bool elastic) {
  FleetOptions options;
  options.replicas = 2;
  options.shared_gpu = shared_gpu;
  options.elastic = elastic;
  return options;
}

TEST(FleetState, ReplicasOnOneGpuAreNeighboursAndOnlyBusyOnesCount) {
  TestRooms test(Two(true, false));
  const FleetState& fleet = test.rooms.fleet;
  EXPECT_EQ(fleet.NeighboursOf(fleet.replica(ReplicaId(0))), std::vector<size_t>{1});
  EXPECT_EQ(fleet.BusyNeighbours(fleet.replica(ReplicaId(0))), 0);
  test.Running(1, 100, 1);
  EXPECT_EQ(fleet.BusyNeighbours(fleet.replica(ReplicaId(0))), 1);
  EXPECT_EQ(fleet.BusyNeighbours(fleet.replica(ReplicaId(1))), 0);
}

TEST(FleetState, ReplicasOnGpusOfTheirOwnHaveNoNeighbours) {
  TestRooms test(Two(false, false));
  EXPECT_TRUE(test.rooms.fleet.NeighboursOf(test.Replica(0)).empty());
}

TEST(FleetState, AReloadKeepsTheMembersOfAPoolAndReplacesItsReplicas) {
  TestRooms test(Two(false, true));
  test.Running(1, 100);
  Fleet fleet = MakeFleet(Two(false, true));
  fleet.pools[0].capacity = Amount(500);
  test.Configure(fleet);
  EXPECT_EQ(test.rooms.fleet.pool(PoolId(0)).replicas().size(), 2u);
  EXPECT_EQ(test.rooms.fleet.pool(PoolId(0)).growth().members(), 1);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(PoolId(0)).capacity, Amount(500));
}

TEST(FleetState, AReplicaOnProbationIsPlaceableOnlyWhileItIsIdle) {
  TestRooms test;
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kProbing, test.now);
  EXPECT_TRUE(test.Replica().Placeable());
  test.Running(1, 100);
  EXPECT_FALSE(test.Replica().Placeable());
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDraining, test.now);
  EXPECT_FALSE(test.Replica().Placeable());
}

TEST(FleetState, RequestsThatRanBeforeAProbationDoNotBlockIt) {
  TestRooms test;
  RequestState* before = test.Running(1, 100);
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kProbing, test.now);
  EXPECT_TRUE(test.Replica().Placeable());
  RequestState* probe = test.Running(2, 100);
  EXPECT_FALSE(test.Replica().Placeable());
  test.rooms.running.Leave(before, test.now);
  EXPECT_FALSE(test.Replica().Placeable());
  test.rooms.running.Leave(probe, test.now);
  EXPECT_TRUE(test.Replica().Placeable());
  EXPECT_TRUE(test.Replica().SumsHold());
}

TEST(FleetState, ReportsOfReplicasThatShareAPoolAreAddedUp) {
  TestRooms test(Two(false, true));
  EngineReport report;
  report.sampled_at = test.now;
  report.kv_used_share = 0.25;
  report.replica = ReplicaId(0);
  test.rooms.fleet.Report(report);
  report.replica = ReplicaId(1);
  test.rooms.fleet.Report(report);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(PoolId(0)).reported, Amount(50'000));
}

TEST(FleetState, AHugeMemberThatLeftHidesNobodyOfItsPool) {
  TestRooms test(Two(false, true));
  const auto start = [&test](uint64_t id, int64_t prompt, uint32_t replica) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(prompt);
    arrived.prompt_sigma = 0.3;
    return test.Start(test.New(arrived), replica);
  };
  start(1, 100, 0);
  start(2, 100, 1);
  const PoolGrowth& growth = test.rooms.fleet.pool(PoolId(0)).growth();
  const double variance = growth.VarianceAt(0, test.now);
  test.rooms.running.Leave(start(3, int64_t{1} << 31, 1), test.now);
  EXPECT_EQ(growth.members(), 2);
  EXPECT_NEAR(growth.VarianceAt(0, test.now), variance, 1e-6 * variance);
  EXPECT_EQ(growth.shortfalls(), 0);
}

TEST(FleetState, ForeignUseOfASharedPoolIsTheSameWhoeverReportsLast) {
  TestRooms test(Two(false, true));
  test.Running(1, 1000, 0);
  test.Running(2, 1000, 0);
  test.Running(3, 1000, 1);
  const PoolBalance& balance = test.rooms.fleet.ledger().balance(PoolId(0));
  const Amount each((balance.promised - balance.held).value() / 3);
  ASSERT_GT(each, Amount(0));
  const auto report = [&](uint32_t replica, int running) {
    EngineReport event;
    event.replica = ReplicaId(replica);
    event.sampled_at = test.now;
    event.kv_used_share = 0.25;
    event.running = running;
    event.waiting = 0;
    test.rooms.fleet.Report(event);
  };
  // The first has four foreign sequences, the second none.
  report(1, 1);
  report(0, 6);
  const Amount foreign = balance.foreign;
  EXPECT_EQ(balance.overdraft, Amount(0));
  EXPECT_NEAR(foreign.AsDouble(), (balance.reported - balance.held + each * 4).AsDouble(), 4);
  report(1, 1);
  EXPECT_EQ(balance.foreign, foreign);
  EXPECT_EQ(balance.overdraft, Amount(0));
}

TEST(FleetState, PreemptionsAreTheIncreasesOfACounterThatMayRestart) {
  EngineFacts facts;
  EXPECT_EQ(facts.TakePreemptions(10), 0);
  EXPECT_EQ(facts.TakePreemptions(13), 3);
  EXPECT_EQ(facts.TakePreemptions(-1), 0);
  EXPECT_EQ(facts.TakePreemptions(2), 0);
  EXPECT_EQ(facts.TakePreemptions(4), 2);
  EXPECT_EQ(facts.preemptions_seen, 5);
}

TEST(FleetState, TheRowsOfRemovedReplicasAreNotReserved) {
  Fleet fleet = MakeFleet(Two(false, false));
  fleet.replicas[1].removed = true;
  TestRooms test(fleet);
  EXPECT_EQ(test.rooms.fleet.Rows(), 256);
}

}  // namespace
}  // namespace penstock::testing
