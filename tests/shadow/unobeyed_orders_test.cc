#include "router/shadow/unobeyed_orders.h"

#include <gtest/gtest.h>

#include "tests/shadow/beside.h"

namespace penstock {
namespace {

// A fleet of one replica that sleeps after a second without requests.
Fleet Sleeper() {
  Fleet fleet = ShadowFleet(1);
  fleet.replicas[0].sleep = SleepSpec{Duration::Seconds(1), Duration::Seconds(3)};
  return fleet;
}

TEST(UnobeyedOrders, AnOrderThatNobodyObeysIsAnsweredWithTheStateThatStays) {
  Beside world("penstock", 1);
  world.Tell(FleetChanged{Sleeper()});
  for (int i = 0; i < 20; ++i) {
    world.Wait(0.5);
    world.Tell(EngineReport{ReplicaId(0)});
  }
  ASSERT_GT(world.Report().fleet_orders, 0) << "it would have sent the replica to sleep";
  EXPECT_EQ(world.shadow.View(Instant::FromSeconds(world.now)).replicas[0].residency, Residency::kAwake);
  world.Arrives(1, {Beside::Sent(1, 0)});
  EXPECT_EQ(world.Of(ShadowVerdict::kSame).requests, 1) << "the replica is awake";
}

TEST(UnobeyedOrders, AnOrderToWakeFailsAndTheReplicaSleepsOn) {
  Beside world("penstock", 1);
  world.Tell(FleetChanged{Sleeper()});
  world.Tell(ReplicaResidency{ReplicaId(0), Residency::kAsleep});
  world.Arrives(1, {Beside::Waits(1)});
  EXPECT_EQ(world.Report().fleet_orders, 1);
  EXPECT_EQ(world.shadow.View(Instant::FromSeconds(world.now)).replicas[0].residency, Residency::kAsleep);
}

TEST(UnobeyedOrders, AnOrderThatBothGiveWaitsForItsRealEnd) {
  Beside world("penstock", 1);
  world.Tell(FleetChanged{Sleeper()});
  world.Tell(ReplicaResidency{ReplicaId(0), Residency::kAsleep});
  world.Arrives(1, {Beside::Waits(1), Wake{ReplicaId(0)}});
  EXPECT_EQ(world.shadow.View(Instant::FromSeconds(world.now)).replicas[0].residency, Residency::kWaking);
}

TEST(UnobeyedOrders, AnOrderToLoadAnAdapterFailsAndTheRequestWaits) {
  Beside world("penstock", 1);
  Fleet fleet = ShadowFleet(1);
  fleet.models.push_back({"adapter", ModelId(0)});
  fleet.replicas[0].models.push_back(ModelId(1));
  fleet.replicas[0].adapters = {{ModelId(1)}, 1, Duration::Seconds(2), Duration::Seconds(30)};
  world.Tell(FleetChanged{fleet});
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.model = ModelId(1);
  arrived.prompt = Tokens(500);
  world.Tell(arrived, {Beside::Waits(1)});
  EXPECT_EQ(world.Report().fleet_orders, 1);
  EXPECT_EQ(world.Running(0), 0);
  world.Tell(AdapterResidency{ReplicaId(0), ModelId(1), true, false, Duration::Seconds(2)}, {Beside::Sent(1, 0)});
  EXPECT_EQ(world.Running(0), 1) << "another one had it loaded";
}

TEST(UnobeyedOrders, AnAdapterThatShouldHaveMadeRoomIsStillLoaded) {
  const std::vector<Event> answers = AnswersTo({LoadAdapter{ReplicaId(0), ModelId(2), ModelId(1)}}, {});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(std::get<AdapterResidency>(answers[0]).model, ModelId(1));
  EXPECT_TRUE(std::get<AdapterResidency>(answers[0]).loaded);
  EXPECT_TRUE(std::get<AdapterResidency>(answers[1]).failed);
}

}  // namespace
}  // namespace penstock
