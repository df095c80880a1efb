#include "router/core/books/servers.h"

#include <gtest/gtest.h>

#include "router/core/contract/admission_checks.h"
#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

const ModelId kChat(0);

FleetOptions Replicas(int count) {
  FleetOptions options;
  options.replicas = count;
  return options;
}

TEST(Servers, AModelIsServedByTheReplicasThatNameItAndAreNotRemoved) {
  Fleet fleet = MakeFleet(Replicas(3));
  fleet.replicas[1].removed = true;
  TestRooms test(fleet);
  EXPECT_EQ(test.rooms.servers.Of(kChat), (std::vector<size_t>{0, 2}));
  EXPECT_TRUE(test.rooms.servers.Of(ModelId(9)).empty());
}

TEST(Servers, AModelWhoseLastReplicaVanishedIsWaitedForAMoment) {
  TestRooms test(Replicas(2));
  Servers& servers = test.rooms.servers;
  servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  EXPECT_EQ(servers.OutageEnd(kChat, test.now), Instant::Never());
  servers.SetHealth(ReplicaId(1), Health::kDown, test.now);
  EXPECT_FALSE(servers.AnyUp(kChat));
  EXPECT_FALSE(servers.DownForGood(kChat, test.now));
  EXPECT_EQ(servers.OutageEnd(kChat, test.now), test.now + kOutageGrace);
  EXPECT_TRUE(servers.DownForGood(kChat, test.now + kOutageGrace));
}

TEST(Servers, AReplicaThatWasNeverUpIsNotWaitedFor) {
  TestRooms test;
  Rooms rooms{CoreRules()};
  rooms.Configure(MakeFleet({}), test.now);
  EXPECT_TRUE(rooms.servers.DownForGood(kChat, test.now));
}

TEST(Servers, AReplicaThatJoinsARunningFleetIsWaitedForAsIfItHadBeenUp) {
  TestRooms test(Replicas(2));
  Rooms rooms{CoreRules()};
  Fleet fleet = MakeFleet(Replicas(1));
  rooms.Configure(fleet, test.now);
  EXPECT_TRUE(rooms.servers.DownForGood(kChat, test.now)) << "a fleet that starts";
  Fleet moved = MakeFleet(Replicas(2));
  moved.replicas[0].removed = true;
  rooms.Configure(moved, test.now);
  EXPECT_FALSE(rooms.servers.DownForGood(kChat, test.now));
  EXPECT_EQ(rooms.servers.OutageEnd(kChat, test.now), test.now + kOutageGrace);
  rooms.Configure(moved, test.now + Duration::Seconds(2));
  EXPECT_TRUE(rooms.servers.DownForGood(kChat, test.now + kOutageGrace)) << "it joined once";
}

TEST(Servers, AReplicaThatJoinsAndHasNotNamedItsModelsMayServeAnyOfThem) {
  TestRooms test;
  Rooms rooms{CoreRules()};
  rooms.Configure(MakeFleet(Replicas(1)), test.now);
  Fleet moved = MakeFleet(Replicas(2));
  moved.replicas[0].removed = true;
  moved.replicas[1].models.clear();
  rooms.Configure(moved, test.now);
  EXPECT_FALSE(rooms.servers.DownForGood(kChat, test.now));
  EXPECT_EQ(rooms.servers.OutageEnd(kChat, test.now), test.now + kOutageGrace);
  EXPECT_TRUE(rooms.servers.DownForGood(kChat, test.now + kOutageGrace));
  moved.models.push_back({"other"});
  moved.replicas[1].models = {ModelId(1)};
  rooms.Configure(moved, test.now);
  EXPECT_TRUE(rooms.servers.DownForGood(kChat, test.now)) << "it serves another";
}

TEST(Servers, AHolderHasNoMoreOfAPromptThanTheLandmarkThatItLacks) {
  Fleet fleet = MakeFleet(Replicas(3));
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(100'000);
  TestRooms test(fleet);
  RequestState* request = test.New(1, 40 * kPrefixBlock.value());
  for (uint64_t block = 1; block <= 40; ++block) request->arrived.prefix.push_back(block);
  const auto hold = [&](uint64_t id, uint32_t replica, uint64_t blocks) {
    RequestState* holder = test.New(id, static_cast<int64_t>(blocks) * kPrefixBlock.value());
    for (uint64_t block = 1; block <= blocks; ++block) holder->arrived.prefix.push_back(block);
    test.Start(holder, replica);
  };
  hold(2, 0, 5);
  hold(3, 2, 20);
  Servers::Holders holders;
  EXPECT_EQ(test.rooms.servers.DeepestHolders(*request, holders).most, Tokens(0)) << "nobody else holds a block";
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[0].server, 2u) << "the deepest first";
  EXPECT_EQ(holders[0].most, kPrefixBlock * 24);
  EXPECT_EQ(holders[1].server, 0u);
  EXPECT_EQ(holders[1].most, kPrefixBlock * 8);
}

TEST(Servers, AReplicaThatWentDownHasLostItsCachedPrefixes) {
  TestRooms test;
  Fleet fleet = MakeFleet({});
  fleet.replicas[0].prefix_cache = Tokens(10'000);
  test.Configure(fleet);
  RequestState* request = test.New(1, 2000);
  request->arrived.prefix = {1, 2, 3};
  test.Start(request);
  EXPECT_EQ(test.rooms.servers.MostCached(*request), kPrefixBlock * 3);
  test.rooms.servers.SetHealth(ReplicaId(0), Health::kDown, test.now);
  EXPECT_EQ(test.rooms.servers.MostCached(*request), Tokens(0));
}

TEST(Servers, TheLongestPromptIsBoundByContextAndPool) {
  FleetOptions options = Replicas(1);
  options.pool_tokens = 1000;
  TestRooms small(options);
  EXPECT_EQ(small.rooms.servers.Longest(0), Tokens(1000));
  TestRooms large;
  EXPECT_EQ(large.rooms.servers.Longest(0), Tokens(49'999));
}

TEST(Servers, AnUncertainPromptIsCountedAtItsLowerEnd) {
  TestRooms test;
  RequestState* request = test.New(1, 60'000);
  EXPECT_EQ(test.rooms.servers.LengthNeeded(*request), Tokens(0));
  request->arrived.prompt_sigma = 0.1;
  EXPECT_EQ(test.rooms.servers.LengthNeeded(*request), Tokens(48'000));
}

TEST(Servers, ABriefCountsThePoolsPresentUseAndClosesAFullBatch) {
  FleetOptions options = Replicas(1);
  options.pool_tokens = 1000;
  options.max_sequences = 2;
  TestRooms test(options);
  test.Running(1, 250);
  test.rooms.servers.UpdateBrief(0, test.now);
  EXPECT_NEAR(test.rooms.servers.brief(0).fullness, 0.25, 0.01);
  test.Running(2, 250);
  test.rooms.servers.UpdateBrief(0, test.now);
  EXPECT_GT(test.rooms.servers.brief(0).fullness, 1);
}

TEST(Servers, ExpectedWorkIsLessWhereThePromptIsCached) {
  TestRooms test;
  RequestState* request = test.New(1, 4000);
  const double whole = test.rooms.servers.ExpectedWork(*request, 100, test.now);
  request->waiting.cached = Tokens(3000);
  EXPECT_LT(test.rooms.servers.ExpectedWork(*request, 100, test.now), whole);
  EXPECT_GT(test.rooms.servers.ExpectedWork(*request, 200, test.now),
            test.rooms.servers.ExpectedWork(*request, 100, test.now));
}

}  // namespace
}  // namespace penstock::testing
