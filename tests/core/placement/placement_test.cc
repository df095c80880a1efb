#include "router/core/placement/placement.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions Replicas(int count, int64_t tokens = 100'000) {
  FleetOptions options;
  options.replicas = count;
  options.pool_tokens = tokens;
  return options;
}

std::optional<Choice> Choose(TestRooms& test, RequestState* request) {
  test.rooms.work.StartEvent();
  return test.rooms.placement.Choose(request, test.now);
}

TEST(Placement, TheEmptierReplicaIsChosenAndItsContributionsAreAtHand) {
  TestRooms test(Replicas(2));
  test.Decoding(1, 5000, 0);
  RequestState* request = test.New(2, 300);
  const std::optional<Choice> choice = Choose(test, request);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->replica, 1u);
  ASSERT_EQ(test.rooms.placement.GrowthOf(*choice).size(), 1u);
  EXPECT_FLOAT_EQ(test.rooms.placement.GrowthOf(*choice)[0].mean[0], 300);
}

TEST(Placement, ARequestThatNoReplicaTakesWaitsForTheReasonOfTheHighestRank) {
  Fleet fleet = MakeFleet(Replicas(2, 1000));
  fleet.replicas[0].max_sequences = 1;
  TestRooms test(fleet);
  test.Decoding(1, 100, 0);
  test.Decoding(2, 500, 1);
  RequestState* request = test.New(3, 480);
  EXPECT_FALSE(Choose(test, request).has_value());
  EXPECT_EQ(request->waiting.reason, WaitReason::kMemory);
  EXPECT_TRUE(test.rooms.placement.TriedEverywhere(*request));
}

TEST(Placement, WithoutAReplicaThatIsUpThatIsTheReason) {
  TestRooms test(Replicas(1));
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  RequestState* request = test.New(1, 100);
  EXPECT_FALSE(Choose(test, request).has_value());
  EXPECT_EQ(request->waiting.reason, WaitReason::kNoReplicaUp);
}

TEST(Placement, ALaterTryThatMeetsNoReplicaKeepsTheReasonOfTheLastTest) {
  TestRooms test(Replicas(1, 1000));
  test.Decoding(1, 500);
  RequestState* request = test.New(2, 490);
  EXPECT_FALSE(Choose(test, request).has_value());
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  test.rooms.work.Open(test.Replica());
  EXPECT_FALSE(Choose(test, request).has_value());
  EXPECT_EQ(request->waiting.reason, WaitReason::kMemory);
}

TEST(Placement, AReplicaThatFailedTheRequestIsTakenOnlyWhenNoOtherCanBe) {
  TestRooms test(Replicas(2));
  RequestState* request = test.New(1, 100);
  request->waiting.avoid = {ReplicaId(0)};
  EXPECT_EQ(Choose(test, request)->replica, 1u);
  request->waiting.ForgetTries();
  test.rooms.servers.SetHealth(ReplicaId(1), Health::kDown, test.now);
  EXPECT_EQ(Choose(test, request)->replica, 0u);
}

TEST(Placement, ARequestThatGoesOnWithWhatAReplicaKeepsIsPlacedThereOrWaits) {
  for (const int replicas : {2, 40}) {
    TestRooms test(Replicas(replicas));
    test.Decoding(1, 5000, 1);
    RequestState* request = test.New(2, 300);
    request->arrived.home = ReplicaId(1);
    request->waiting.avoid = {ReplicaId(1)};
    EXPECT_EQ(Choose(test, request)->replica, 1u) << "the fuller one, which failed it before";
    request->waiting.ForgetTries();
    test.rooms.servers.SetHealth(ReplicaId(1), Health::kDown, test.now);
    EXPECT_FALSE(Choose(test, request).has_value());
  }
}

TEST(Placement, AReplicaWhoseContextIsTooShortIsPassedOver) {
  Fleet fleet = MakeFleet(Replicas(2));
  fleet.replicas[0].max_context = Tokens(1000);
  TestRooms test(fleet);
  EXPECT_EQ(Choose(test, test.New(1, 5000))->replica, 1u);
}

TEST(Placement, ARequestThatTheEventCannotPayForIsNotTriedAndKeepsItsReason) {
  TestRooms test(Replicas(1));
  RequestState* request = test.New(1, 100);
  test.rooms.work.StartEvent();
  test.rooms.work.Spend(kTriesPerEvent);
  EXPECT_FALSE(test.rooms.placement.Choose(request, test.now).has_value());
  EXPECT_EQ(request->waiting.reason, WaitReason::kBehindOthers);
  EXPECT_FALSE(test.rooms.placement.TriedEverywhere(*request));
}

// Two copies of the model on each of two GPUs, and what the first copy of the first GPU holds.
struct CopiesTest {
  explicit CopiesTest(int64_t held, bool time_sliced = true) : test(Fleet(time_sliced)) {
    test.Decoding(1, held, 0);
    test.Decoding(2, 90'000, 2);
    test.rooms.servers.UpdateFullness(test.Replica(0), test.now);
    test.rooms.servers.UpdateFullness(test.Replica(2), test.now);
  }
  static penstock::Fleet Fleet(bool time_sliced) {
    FleetOptions options = Replicas(4);
    options.max_sequences = 2;
    penstock::Fleet fleet = MakeFleet(options);
    for (uint32_t i = 0; i < 4; ++i) {
      fleet.replicas[i].gpus = {i / 2};
      fleet.replicas[i].time_sliced = time_sliced;
    }
    return fleet;
  }
  size_t Chosen(int64_t prompt) { return Choose(test, test.New(100 + prompt, prompt))->replica; }

  TestRooms test;
};

TEST(PlacementOfCopies, ASecondCopyOfATimeSlicedGpuIsIdleWhileTheFirstHasRoom) {
  EXPECT_EQ(CopiesTest(40'000).Chosen(1000), 0u);
  EXPECT_EQ(CopiesTest(40'000, false).Chosen(1000), 1u) << "with MPS the copies run beside one another";
}

TEST(PlacementOfCopies, ASecondCopyIsUsedWhereTheFirstTakesNoRequest) {
  EXPECT_EQ(CopiesTest(60'000).Chosen(45'000), 1u) << "no room";
  CopiesTest copies(40'000);
  copies.test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, copies.test.now);
  EXPECT_EQ(copies.Chosen(1000), 1u) << "down: the copy is the first of its GPU";
}

TEST(PlacementOfCopies, CopiesThatBothRunAreFilledEvenlyUntilTheFirstIsNearlyEmpty) {
  for (const auto& [held, chosen] : {std::pair(60'000, 1u), std::pair(30'000, 0u)}) {
    CopiesTest copies(held);
    copies.test.Decoding(3, 20'000, 1);
    EXPECT_EQ(copies.Chosen(1000), chosen) << held;
  }
}

TEST(Placement, AShorterListOfGuardsLetsMoreIn) {
  CoreRules rules;
  rules.guards = {rules.guards.front()};
  TestRooms test(Replicas(1), std::move(rules));
  test.Running(1, 20'000);
  EXPECT_TRUE(Choose(test, test.New(2, 20'000)).has_value());
}

}  // namespace
}  // namespace penstock::testing
