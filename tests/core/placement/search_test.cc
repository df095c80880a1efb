#include "router/core/placement/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions ManyReplicas(int count) {
  FleetOptions options;
  options.replicas = count;
  return options;
}

class SearchTest : public ::testing::Test {
 protected:
  void Configure(const Fleet& fleet) {
    test_.Configure(fleet);
    test_.rooms.work.StartEvent();
    request_ = test_.New(++configured_, 2000);
  }
  bool Begin() { return search_.Begin(request_, test_.rooms.servers.LengthNeeded(*request_), test_.now); }
  // The replicas to try when none of them takes the request.
  std::vector<size_t> Next(size_t most = 1000) {
    std::vector<size_t> found;
    if (!Begin()) return found;
    while (found.size() < most) {
      const std::optional<size_t> next = search_.Next(nullptr);
      if (!next) break;
      found.push_back(*next);
    }
    return found;
  }

  // The same, in as many events as it takes.
  std::vector<size_t> AllInEvents() {
    std::vector<size_t> found;
    for (events_ = 0; events_ < 20 && !search_.TriedEverywhere(*request_); ++events_) {
      const std::vector<size_t> more = Next();
      found.insert(found.end(), more.begin(), more.end());
      test_.rooms.work.StartEvent();
    }
    return found;
  }

  TestRooms test_;
  Search search_{test_.rooms.fleet,  test_.rooms.servers, test_.rooms.memory,
                 test_.rooms.floors, test_.rooms.work,    AllGuards()};
  RequestState* request_ = nullptr;
  uint64_t configured_ = 0;  // Times; the ids of the requests that search.
  int events_ = 0;           // Those that the last AllInEvents took.
};

TEST_F(SearchTest, ASmallFleetIsSearchedWholeAndOnce) {
  Configure(MakeFleet(ManyReplicas(5)));
  EXPECT_EQ(Next(), (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(search_.TriedEverywhere(*request_));
  EXPECT_TRUE(Next().empty());
  EXPECT_EQ(test_.rooms.work.budget(), kTriesPerEvent - 5);
}

TEST_F(SearchTest, AReplicaThatOpensIsTriedAgain) {
  for (const int count : {5, 40}) {
    Configure(MakeFleet(ManyReplicas(count)));
    EXPECT_EQ(AllInEvents().size(), static_cast<size_t>(count));
    EXPECT_TRUE(search_.TriedEverywhere(*request_));
    test_.rooms.work.Open(test_.Replica(3));
    EXPECT_EQ(Next(), std::vector<size_t>{3});
    test_.rooms.work.ClearOpened();
  }
}

TEST_F(SearchTest, OfALargeFleetTheEmptiestReplicasComeFirst) {
  Configure(MakeFleet(ManyReplicas(40)));
  for (uint32_t i = 0; i < 30; ++i) test_.Decoding(100 + i, 10'000 - 100 * i, i);
  test_.UpdateFloors();
  std::vector<size_t> first = AllInEvents();
  ASSERT_EQ(first.size(), 40u);
  first.resize(13);
  EXPECT_TRUE(std::all_of(first.begin(), first.begin() + 10, [](size_t index) { return index >= 30; }));
  EXPECT_EQ(std::vector<size_t>(first.begin() + 10, first.end()), (std::vector<size_t>{29, 28, 27}));
}

TEST_F(SearchTest, TheSearchEndsWhereNoReplicaCanBeBetterThanTheBest) {
  Configure(MakeFleet(ManyReplicas(40)));
  for (uint32_t i = 0; i < 40; ++i) test_.Decoding(100 + i, 1'000 + 500 * i, i);
  test_.UpdateFloors();
  ASSERT_TRUE(Begin());
  ASSERT_EQ(search_.Next(nullptr), 0u);
  Choice best;
  best.peak_share = 0.04;  // 4,000 tokens of the pool.
  std::vector<size_t> others;
  while (const std::optional<size_t> next = search_.Next(&best)) others.push_back(*next);
  EXPECT_LE(others.size(), 6u) << "the floors of the others are above it";
  EXPECT_GE(test_.rooms.work.budget(), kTriesPerEvent - 12);
}

TEST_F(SearchTest, TheOthersOfALargeFleetFollowAsEventsPayForThem) {
  Configure(MakeFleet(ManyReplicas(120)));
  std::vector<size_t> tried = AllInEvents();
  EXPECT_TRUE(search_.TriedEverywhere(*request_));
  EXPECT_EQ(events_, 18) << "a search pays for 7 tries and their looks in one event";
  std::sort(tried.begin(), tried.end());
  EXPECT_EQ(tried.size(), 120u);
  EXPECT_TRUE(std::adjacent_find(tried.begin(), tried.end()) == tried.end()) << "each is tried once";
}

TEST_F(SearchTest, OnceAReplicaWasFoundAFewTriesMoreEndTheSearch) {
  Configure(MakeFleet(ManyReplicas(120)));
  ASSERT_TRUE(Begin());
  ASSERT_TRUE(search_.Next(nullptr).has_value());
  Choice best;
  best.peak_share = 0.9;
  size_t others = 0;
  while (search_.Next(&best)) ++others;
  EXPECT_EQ(others, 15u) << "of 119 that could be better";
  EXPECT_FALSE(search_.TriedEverywhere(*request_));
  EXPECT_TRUE(request_->waiting.tries.failed_on.empty()) << "the next search begins anew";
}

TEST_F(SearchTest, AnEventThatHasSpentItsBudgetTriesNoReplica) {
  for (const int count : {5, 40}) {
    Configure(MakeFleet(ManyReplicas(count)));
    test_.rooms.work.Spend(kTriesPerEvent);
    EXPECT_TRUE(Next().empty());
    EXPECT_FALSE(search_.TriedEverywhere(*request_));
  }
}

TEST_F(SearchTest, AFullerReplicaThatHoldsThePrefixIsTriedFirst) {
  Fleet fleet = MakeFleet(ManyReplicas(40));
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(10'000);
  Configure(fleet);
  request_->arrived.prefix = {1, 2, 3};
  RequestState* holder = test_.New(100, 3'000);
  holder->arrived.prefix = {1, 2, 3, 4};
  test_.Start(holder, 39);
  test_.UpdateFloors();
  EXPECT_EQ(Next(1), std::vector<size_t>{39});
}

TEST_F(SearchTest, AReplicaThatCannotHoldThePromptIsPassedOver) {
  Fleet fleet = MakeFleet(ManyReplicas(40));
  for (uint32_t i = 0; i < 30; ++i) fleet.replicas[i].max_context = Tokens(1000);
  Configure(fleet);
  EXPECT_EQ(AllInEvents(), (std::vector<size_t>{30, 31, 32, 33, 34, 35, 36, 37, 38, 39}));
}

TEST_F(SearchTest, AReplicaWithMuchPrefillOnItsWayIsPassedOverUnlessItsCacheSavesAsMuch) {
  Fleet fleet = MakeFleet(ManyReplicas(40));
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(30'000);
  Configure(fleet);
  // Replica 6 holds the prompt behind 8,000 tokens more.
  for (const uint32_t holds : {5u, 6u}) {
    if (holds == 6) test_.Running(300, 8'000, holds);
    RequestState* holder = test_.New(200 + holds, 20 * kPrefixBlock.value());
    for (uint64_t block = 1; block <= 20; ++block) holder->arrived.prefix.push_back(block);
    test_.Start(holder, holds);
  }
  for (uint32_t i = 0; i < 39; ++i) {
    if (i != 5 && i != 6) test_.Running(100 + i, 8'000, i);
  }
  test_.UpdateFloors();
  EXPECT_EQ(Next(), std::vector<size_t>{39});
  EXPECT_EQ(search_.closed(), WaitReason::kRunway);
  request_ = test_.New(400, 40 * kPrefixBlock.value());
  for (uint64_t block = 1; block <= 40; ++block) request_->arrived.prefix.push_back(block);
  const std::vector<size_t> found = Next();
  EXPECT_EQ(std::set<size_t>(found.begin(), found.end()), (std::set<size_t>{5, 39}));
}

TEST_F(SearchTest, AReplicaWhoseStreamsLetNobodyInIsPassedOverUntilTheyDoOrItChanges) {
  Configure(MakeFleet(ManyReplicas(40)));
  const Instant until = test_.now + Duration::Milliseconds(20);
  const size_t changed = 39;
  for (size_t i = 0; i < 40; ++i) test_.rooms.floors.CloseUntil(i, until);
  test_.rooms.floors.Update(std::span(&changed, 1), test_.now);
  EXPECT_EQ(Next(), std::vector<size_t>{changed});
  EXPECT_EQ(search_.closed(), WaitReason::kRunningStreams);
  test_.Wait(Duration::Milliseconds(20));
  request_ = test_.New(400, 2000);
  EXPECT_EQ(AllInEvents().size(), 40u);
}

TEST_F(SearchTest, ReplicasThatTakeNoRequestAtAllArePassedOverAndSayWhy) {
  Fleet fleet = MakeFleet(ManyReplicas(40));
  for (ReplicaSpec& replica : fleet.replicas) replica.max_sequences = 1;
  Configure(fleet);
  for (uint32_t i = 0; i < 39; ++i) test_.Running(100 + i, 100, i);
  test_.rooms.servers.SetHealth(ReplicaId(39), Health::kDown, test_.now);
  test_.UpdateFloors();
  EXPECT_TRUE(Next().empty());
  EXPECT_TRUE(search_.TriedEverywhere(*request_));
  EXPECT_EQ(search_.closed(), WaitReason::kSequences);
  EXPECT_EQ(test_.rooms.work.budget(), kTriesPerEvent);
}

}  // namespace
}  // namespace penstock::testing
