#include "router/core/placement/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions Replicas(int count) {
  FleetOptions options;
  options.replicas = count;
  return options;
}

class SearchTest : public ::testing::Test {
 protected:
  void Begin(const Fleet& fleet) {
    test_.Configure(fleet);
    test_.rooms.work.StartEvent();
    request_ = test_.New(1, 2000);
  }
  std::vector<size_t> Next() { return search_.ReplicasToTry(request_, test_.rooms.servers.LengthNeeded(*request_)); }

  TestRooms test_;
  Search search_{test_.rooms.fleet, test_.rooms.servers, test_.rooms.work};
  RequestState* request_ = nullptr;
};

TEST_F(SearchTest, ASmallFleetIsSearchedWholeAndOnce) {
  Begin(MakeFleet(Replicas(5)));
  EXPECT_EQ(Next(), (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(search_.TriedEverywhere(*request_));
  EXPECT_TRUE(Next().empty());
  EXPECT_EQ(test_.rooms.work.budget(), kTriesPerEvent - 5);
}

TEST_F(SearchTest, AReplicaThatOpensIsTriedAgain) {
  Begin(MakeFleet(Replicas(5)));
  Next();
  test_.rooms.work.Open(test_.Replica(3));
  EXPECT_EQ(Next(), std::vector<size_t>{3});
}

TEST_F(SearchTest, OfALargeFleetTheEmptiestReplicasComeFirst) {
  Begin(MakeFleet(Replicas(40)));
  for (uint32_t i = 0; i < 10; ++i) {
    test_.Running(100 + i, 10'000, i);
    test_.rooms.servers.UpdateBrief(i, test_.now);
  }
  const std::vector<size_t> first = Next();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](size_t index) { return index >= 10; }));
  EXPECT_FALSE(search_.TriedEverywhere(*request_));
}

TEST_F(SearchTest, TheOthersOfALargeFleetFollowAsEventsPayForThem) {
  Begin(MakeFleet(Replicas(60)));
  Next();
  EXPECT_EQ(Next().size(), kTriesPerEvent - 16);
  EXPECT_TRUE(Next().empty());
  test_.rooms.work.StartEvent();
  EXPECT_EQ(Next().size(), 60 - (kTriesPerEvent - 16));
  EXPECT_TRUE(search_.TriedEverywhere(*request_));
}

TEST_F(SearchTest, AnEventThatHasSpentItsBudgetTriesNoReplica) {
  Begin(MakeFleet(Replicas(5)));
  test_.rooms.work.Spend(kTriesPerEvent);
  EXPECT_TRUE(Next().empty());
  EXPECT_FALSE(search_.TriedEverywhere(*request_));
}

TEST_F(SearchTest, AFullReplicaThatHoldsThePrefixIsAmongTheFirst) {
  Fleet fleet = MakeFleet(Replicas(40));
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(10'000);
  Begin(fleet);
  request_->arrived.prefix = {1, 2, 3};
  RequestState* holder = test_.New(100, 10'000);
  holder->arrived.prefix = {1, 2, 3, 4};
  test_.Start(holder, 39);
  test_.rooms.servers.UpdateBrief(39, test_.now);
  const std::vector<size_t> first = Next();
  EXPECT_EQ(first.size(), 17u);
  EXPECT_EQ(first.back(), 39u);
}

TEST_F(SearchTest, AReplicaThatCannotHoldThePromptIsNotAmongTheEmptiest) {
  Fleet fleet = MakeFleet(Replicas(40));
  for (uint32_t i = 0; i < 30; ++i) fleet.replicas[i].max_context = Tokens(1000);
  Begin(fleet);
  for (size_t index : Next()) EXPECT_GE(index, 30u);
}

}  // namespace
}  // namespace penstock::testing
