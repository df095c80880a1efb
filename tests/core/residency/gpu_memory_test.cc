#include "router/core/residency/gpu_memory.h"

#include <gtest/gtest.h>

#include "tests/core/residency/sleeping_fleet.h"
#include "tests/core/rooms_for_test.h"

namespace penstock {
namespace {

class GpuMemoryTest : public ::testing::Test {
 protected:
  GpuMemoryTest() { memory_.Configure(); }

  Presence& PresenceOf(uint32_t replica) { return test_.Replica(replica).presence; }

  testing::TestRooms test_{testing::SleepingFleet({.models = 3, .memory = 35})};
  GpuMemory memory_{test_.rooms.fleet};
};

TEST_F(GpuMemoryTest, AllButSleepingReplicasTakeTheirMemoryNow) {
  EXPECT_EQ(memory_.FreeNow(0), Bytes(5));
  PresenceOf(0).residency = Residency::kFallingAsleep;
  PresenceOf(1).residency = Residency::kWaking;
  EXPECT_EQ(memory_.FreeNow(0), Bytes(5));
  PresenceOf(0).residency = Residency::kAsleep;
  EXPECT_EQ(memory_.FreeNow(0), Bytes(15));
}

TEST_F(GpuMemoryTest, APlanCountsLeaversOutAndWantedOnesIn) {
  PresenceOf(0).leaving = true;
  EXPECT_EQ(memory_.FreeLater(0), Bytes(15));
  EXPECT_EQ(memory_.FreeNow(0), Bytes(5)) << "it still runs";
  PresenceOf(1).residency = Residency::kAsleep;
  EXPECT_EQ(memory_.FreeLater(0), Bytes(25));
  PresenceOf(1).wanted = true;
  EXPECT_EQ(memory_.FreeLater(0), Bytes(15));
}

TEST_F(GpuMemoryTest, AReplicaIsBlockedWhereThoseThatHoldLeaveTooLittle) {
  const ReplicaSpec& first = test_.Replica(0).spec();
  PresenceOf(0).residency = Residency::kAsleep;
  EXPECT_FALSE(memory_.Blocks(first, test_.now));
  PresenceOf(1).holds = true;
  PresenceOf(2).holds = true;
  EXPECT_FALSE(memory_.Blocks(first, test_.now)) << "15 of 35 are left";
  ReplicaSpec larger = first;
  larger.resident = Bytes(20);
  EXPECT_TRUE(memory_.Blocks(larger, test_.now));
  PresenceOf(2).holds = false;
  EXPECT_FALSE(memory_.Blocks(larger, test_.now)) << "the other one may leave";
}

TEST_F(GpuMemoryTest, AReplicaThatIsDownForLongHoldsItsMemory) {
  PresenceOf(0).residency = PresenceOf(2).residency = Residency::kAsleep;
  ReplicaSpec large = test_.Replica(0).spec();
  large.resident = Bytes(30);
  test_.rooms.servers.SetHealth(ReplicaId(1), Health::kDown, test_.now);
  EXPECT_FALSE(memory_.Blocks(large, test_.now)) << "it may come back in a moment";
  EXPECT_TRUE(memory_.Blocks(large, test_.now + kOutageGrace));
  PresenceOf(1).residency = Residency::kAsleep;
  EXPECT_FALSE(memory_.Blocks(large, test_.now + kOutageGrace)) << "its process has ended";
  PresenceOf(1).residency = Residency::kAwake;
  PresenceOf(1).down_since = Instant();
  EXPECT_FALSE(memory_.Blocks(large, test_.now + kOutageGrace)) << "it was not met yet";
}

TEST_F(GpuMemoryTest, AnOverdueSleepGivesNothingBack) {
  PresenceOf(0).residency = Residency::kFallingAsleep;
  EXPECT_EQ(memory_.FreeLater(0), Bytes(15));
  PresenceOf(0).trusted = false;
  EXPECT_EQ(memory_.FreeLater(0), Bytes(5));
}

TEST_F(GpuMemoryTest, AReplicaFitsWhereEachOfItsGpusHasTheMemory) {
  PresenceOf(0).residency = PresenceOf(1).residency = PresenceOf(2).residency = Residency::kAsleep;
  Fleet fleet = test_.rooms.fleet.spec();
  fleet.gpus.push_back({"small", Bytes(9)});
  fleet.replicas[2].gpus = {0, 1};
  test_.rooms.fleet.Configure(fleet, test_.now);
  memory_.Configure();
  EXPECT_TRUE(memory_.FitsNow(fleet.replicas[0]));
  EXPECT_FALSE(memory_.FitsNow(fleet.replicas[2]));
}

TEST_F(GpuMemoryTest, AGpuOfUnknownMemoryHoldsAnything) {
  Fleet fleet = test_.rooms.fleet.spec();
  fleet.gpus[0].memory = Bytes(0);
  test_.rooms.fleet.Configure(fleet, test_.now);
  memory_.Configure();
  EXPECT_FALSE(memory_.FreeNow(0).has_value());
  EXPECT_TRUE(memory_.FitsNow(fleet.replicas[0]));
}

}  // namespace
}  // namespace penstock
