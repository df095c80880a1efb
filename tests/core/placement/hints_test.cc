#include "router/core/placement/hints.h"

#include <gtest/gtest.h>

#include "tests/core/core_test_support.h"
#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

Fleet CachingFleet() {
  FleetOptions options;
  options.replicas = 2;
  Fleet fleet = MakeFleet(options);
  for (ReplicaSpec& replica : fleet.replicas) replica.prefix_cache = Tokens(100'000);
  return fleet;
}

RequestState* Named(TestRooms& test, uint64_t id, uint64_t session, int64_t prompt, int blocks = 0) {
  RequestArrived arrived;
  arrived.request = RequestId(id);
  arrived.service_class = ClassId(1);
  arrived.prompt = Tokens(prompt);
  arrived.session = session;
  for (int block = 1; block <= blocks; ++block) arrived.prefix.push_back(static_cast<uint64_t>(block));
  RequestState* request = test.New(arrived);
  request->hint = test.rooms.servers.sessions.Find(session);
  return request;
}

size_t Chosen(TestRooms& test, RequestState* request) {
  test.rooms.work.StartEvent();
  return test.rooms.placement.Choose(request, test.now)->replica;
}

TEST(Hints, ASessionGoesBackWhereNoBlockTellsAnything) {
  TestRooms test(CachingFleet());
  test.rooms.servers.sessions.Sent(7, TenantId(1), ReplicaId(1), Tokens(400));
  EXPECT_EQ(Chosen(test, Named(test, 1, 7, 450)), 1u);
  EXPECT_EQ(Chosen(test, Named(test, 2, 8, 450)), 0u) << "another session";
  EXPECT_EQ(Chosen(test, Named(test, 3, 0, 450)), 0u) << "no session";
}

TEST(Hints, AreNoRule) {
  TestRooms test(CachingFleet());
  test.rooms.servers.sessions.Sent(7, TenantId(1), ReplicaId(1), Tokens(40));
  test.Decoding(1, 60'000, 1);
  EXPECT_EQ(Chosen(test, Named(test, 2, 7, 45)), 0u) << "the memory costs more than the hint could save";
  for (int i = 0; i < 40; ++i) test.rooms.servers.sessions.Learn(7, Tokens(30'000), Tokens(0));
  EXPECT_LT(test.rooms.servers.sessions.Find(7).trust, 0.01);
}

TEST(Hints, CountBehindTheBlocksThatAReplicaHasAndNotWhereItLacksOne) {
  TestRooms test(CachingFleet());
  test.rooms.servers.sessions.Sent(7, TenantId(1), ReplicaId(1), Tokens(1500));
  RequestState* request = Named(test, 1, 7, 1400, 2);
  EXPECT_EQ(HintedTokens(*request, 1, test.Replica(1)), Tokens(0)) << "its blocks are not there";
  test.Start(Named(test, 2, 0, 1100, 2), 1);
  EXPECT_EQ(HintedTokens(*request, 1, test.Replica(1)), Tokens(1400 - 1024));
  EXPECT_EQ(HintedTokens(*request, 0, test.Replica(0)), Tokens(0));
}

TEST(Hints, AnEngineWithoutACacheHasNothing) {
  FleetOptions options;
  options.replicas = 2;
  TestRooms test(options);
  test.rooms.servers.sessions.Sent(7, TenantId(1), ReplicaId(1), Tokens(400));
  EXPECT_EQ(Chosen(test, Named(test, 1, 7, 450)), 0u);
}

}  // namespace
}  // namespace penstock::testing
