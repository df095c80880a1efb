#include "router/core/queue/work_list.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

const ModelId kChat(0);

FleetOptions Three(bool shared_gpu, bool elastic) {
  FleetOptions options;
  options.replicas = 3;
  options.shared_gpu = shared_gpu;
  options.elastic = elastic;
  return options;
}

TEST(WorkList, AnEventPaysForItsTriesUntilItsBudgetIsSpent) {
  TestRooms test;
  WorkList& work = test.rooms.work;
  work.StartEvent();
  EXPECT_TRUE(work.Spend(kTriesPerEvent - 1));
  EXPECT_FALSE(work.Spend(2));
  EXPECT_EQ(work.budget(), 1u);
  EXPECT_TRUE(work.Spend(1));
  work.StartEvent();
  EXPECT_EQ(work.budget(), kTriesPerEvent);
}

TEST(WorkList, AReplicaIsListedOnceUntilTheListIsCleared) {
  TestRooms test(Three(false, false));
  WorkList& work = test.rooms.work;
  work.Open(test.Replica(2));
  work.Open(test.Replica(1));
  work.Open(test.Replica(2));
  work.SortOpened();
  EXPECT_EQ(work.opened(), (std::vector<size_t>{1, 2}));
  work.ClearOpened();
  EXPECT_TRUE(work.opened().empty());
  work.Open(test.Replica(2));
  EXPECT_EQ(work.opened(), std::vector<size_t>{2});
}

TEST(WorkList, AReplicaOpensTheOthersOfItsPool) {
  TestRooms test(Three(false, true));
  test.rooms.work.Open(test.Replica(1));
  EXPECT_EQ(test.rooms.work.opened().size(), 3u);
}

TEST(WorkList, AnIdleReplicaOpensItsNeighboursAndABusyOneDoesNot) {
  TestRooms test(Three(true, false));
  test.Running(1, 100, 0);
  test.rooms.work.Open(test.Replica(0));
  EXPECT_EQ(test.rooms.work.opened(), std::vector<size_t>{0});
  test.rooms.work.Open(test.Replica(1));
  EXPECT_EQ(test.rooms.work.opened().size(), 3u);
}

TEST(WorkList, APoolOpensAllItsReplicas) {
  TestRooms test(Three(false, true));
  test.rooms.work.OpenPool(PoolId(0));
  test.rooms.work.SortOpened();
  EXPECT_EQ(test.rooms.work.opened(), (std::vector<size_t>{0, 1, 2}));
}

TEST(WorkList, ANewFleetLeavesEveryLaneUnfinished) {
  TestRooms test;
  EXPECT_TRUE(test.rooms.work.Unfinished(kChat));
  test.rooms.work.SetUnfinished(kChat, false);
  test.Configure(MakeFleet({}));
  EXPECT_TRUE(test.rooms.work.Unfinished(kChat));
}

TEST(WorkList, ARequestThatLeavesALaneWithUntriedRequestsHasItPumped) {
  TestRooms test;
  WorkList& work = test.rooms.work;
  work.SetUnfinished(kChat, false);
  work.LetOthersPast(kChat);
  EXPECT_FALSE(work.Unfinished(kChat));
  work.MarkUntried(kChat);
  work.LetOthersPast(kChat);
  EXPECT_TRUE(work.Unfinished(kChat));
}

TEST(WorkList, ARequestThatAPumpDidNotReachHasMissedItsOpening) {
  TestRooms test;
  WorkList& work = test.rooms.work;
  const uint64_t before = work.StartPump();
  work.EndPump(kChat, false);
  EXPECT_FALSE(work.Missed(kChat, before));
  const uint64_t skipping = work.StartPump();
  work.EndPump(kChat, true);
  EXPECT_TRUE(work.Missed(kChat, before));
  EXPECT_FALSE(work.Missed(kChat, skipping));
}

}  // namespace
}  // namespace penstock::testing
