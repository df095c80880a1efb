#include "router/core/placement/floor_order.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr double kLimit = 0.99;

FloorOrder::Kind At(int horizon) {
  FloorOrder::Kind kind;
  kind.horizon = horizon;
  return kind;
}

std::vector<uint32_t> InOrder(const FloorOrder& order, const FloorOrder::Kind& kind) {
  std::vector<uint32_t> replicas;
  const auto group = order.groups().find(kind);
  if (group == order.groups().end()) return replicas;
  for (const FloorOrder::Member& member : group->second.members) replicas.push_back(member.replica);
  return replicas;
}

TEST(FloorOrder, AGroupStandsInTheOrderOfItsFloorsThenOfItsReplicas) {
  FloorOrder order;
  order.Put(3, At(2), 0.5, kLimit, 0);
  order.Put(1, At(2), 0.7, kLimit, 0);
  order.Put(2, At(2), 0.5, kLimit, 0);
  order.Put(0, At(5), 0.1, kLimit, 0);
  EXPECT_EQ(InOrder(order, At(2)), (std::vector<uint32_t>{2, 3, 1}));
  EXPECT_EQ(InOrder(order, At(5)), std::vector<uint32_t>{0});
}

TEST(FloorOrder, AReplicaStandsInOnePlaceOnly) {
  FloorOrder order;
  order.Put(1, At(2), 0.7, kLimit, 0);
  order.Put(1, At(2), 0.2, kLimit, 0);
  EXPECT_EQ(order.groups().begin()->second.members.begin()->share, 0.2);
  order.Put(1, At(3), 0.2, kLimit, 0);
  EXPECT_EQ(order.groups().size(), 1u) << "an empty group is gone";
  EXPECT_EQ(InOrder(order, At(3)), std::vector<uint32_t>{1});
}

TEST(FloorOrder, AMemberTellsTheNewestPriceOfItsReplica) {
  FloorOrder order;
  order.Put(1, At(2), 0.7, kLimit, 0, {0.5, 0});
  order.Put(1, At(2), 0.7, kLimit, 0, {0.25, 0});
  const FloorOrder::Group& group = order.groups().find(At(2))->second;
  ASSERT_EQ(group.members.size(), 1u);
  EXPECT_EQ(group.members.begin()->price.per_token, 0.25);
}

TEST(FloorOrder, ClosedReplicasStandInNoGroupAndTellTheHighestReason) {
  FloorOrder order;
  EXPECT_EQ(order.closed(), WaitReason::kNoReplicaUp);
  order.Put(1, At(2), 0.7, kLimit, 0);
  order.Close(1, WaitReason::kSequences);
  order.Close(2, WaitReason::kWaking);
  EXPECT_TRUE(order.groups().empty());
  EXPECT_EQ(order.closed(), WaitReason::kSequences);
  order.Close(1, WaitReason::kWaking);
  EXPECT_EQ(order.closed(), WaitReason::kWaking);
  order.Put(1, At(2), 0.7, kLimit, 0);
  order.Put(2, At(2), 0.6, kLimit, 0);
  EXPECT_EQ(order.closed(), WaitReason::kNoReplicaUp);
  EXPECT_EQ(InOrder(order, At(2)), (std::vector<uint32_t>{2, 1}));
}

TEST(FloorOrder, AGroupKnowsTheMostLenientOfItsMembers) {
  FloorOrder order;
  order.Put(1, At(2), 0.7, 0.9, 4);
  order.Put(2, At(2), 0.8, 0.95, 3);
  const FloorOrder::Group& group = order.groups().begin()->second;
  EXPECT_EQ(group.most_limit, 0.95);
  EXPECT_EQ(group.least_runway, 3);
  // Also where the place stays the same.
  order.Put(2, At(2), 0.8, 0.97, 2);
  EXPECT_EQ(group.most_limit, 0.97);
  EXPECT_EQ(group.least_runway, 2);
}

}  // namespace
}  // namespace penstock
