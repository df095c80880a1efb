#include "router/core/admission/book_check.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

TEST(BookCheck, BooksThatWereKeptByTheRoomsAreRight) {
  TestRooms test;
  const BookCheck check(test.rooms, 1);
  EXPECT_EQ(check.FirstDrift(), "");
  test.Waiting(1, 100);
  test.Running(2, 200);
  test.Decoding(3, 300);
  EXPECT_EQ(check.FirstDrift(), "");
}

TEST(BookCheck, ARequestThatTheLedgerForgotIsADriftOfItsPool) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  test.rooms.fleet.ledger().Release(request->running.lease);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "pool pool0: the ledger holds other memory than the requests");
}

TEST(BookCheck, AWaitingRequestThatItsSizeDoesNotCountIsADrift) {
  TestRooms test;
  RequestState* request = test.Waiting(1, 300);
  test.rooms.early.Waits(request, test.now);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "");
  request->evidence.counted = false;
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "a waiting request is not counted by its size, or counted twice");
}

TEST(BookCheck, AMemberThatLeftItsPoolOnlyIsADrift) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  test.rooms.fleet.pool(PoolId(0)).Leave(request->pools[0].member);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "pool pool0: the forecast counts other members than run");
}

TEST(BookCheck, AContributionThatThePoolDidNotSeeIsADrift) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  request->pools[0].member.contribution.mean[0] += 1;
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "pool pool0: the forecast is not the sum of its members");
}

TEST(BookCheck, APromptThatChangedWhileItRanIsADriftOfItsReplica) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  request->kept = Tokens(1);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "replica replica0: a sum over its requests is wrong");
}

TEST(BookCheck, ABlockThatARequestForgotIsADriftOfItsReplica) {
  Fleet fleet = MakeFleet({});
  fleet.replicas[0].prefix_cache = Tokens(100'000);
  TestRooms test(fleet);
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.service_class = ClassId(1);
  arrived.prompt = Tokens(2000);
  arrived.prefix = {1, 2, 3};
  RequestState* request = test.Start(test.New(arrived));
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "");
  request->arrived.prefix.pop_back();
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "replica replica0: a block of a prompt has other users than run");
}

TEST(BookCheck, SharedMemoryThatThePoolForgotIsADrift) {
  TestRooms test;
  test.Decoding(1, 300);
  test.rooms.fleet.pool(PoolId(0)).AddShared(100, 0);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "pool pool0: the forecast is not the sum of its members");
}

TEST(BookCheck, AWaitingRequestWhoseBodyChangedIsADriftOfTheQueue) {
  TestRooms test;
  test.Waiting(1, 300)->arrived.body = Bytes(7);
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "a sum over the waiting requests is wrong");
}

TEST(BookCheck, ARequestThatItsReplicaListsAndThatDoesNotRunIsADrift) {
  TestRooms test;
  test.Running(1, 300)->phase = RequestPhase::kAborting;
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "replica replica0: a request that does not run is listed");
}

TEST(BookCheck, AWaitingRequestThatIsNotOpenIsADrift) {
  TestRooms test;
  RequestState forgotten = *test.New(1, 300);
  test.rooms.waiting.Push(&forgotten, test.now);
  test.rooms.requests.Erase(RequestId(1));
  EXPECT_EQ(BookCheck(test.rooms, 1).FirstDrift(), "more requests wait and run than are open");
}

TEST(BookCheck, BooksAreRecountedOnceInSoManyEventsAndEachDriftIsCounted) {
  TestRooms test;
  test.Waiting(1, 300)->arrived.body = Bytes(7);
  BookCheck check(test.rooms, 3);
  check.AfterEvent();
  check.AfterEvent();
  EXPECT_EQ(check.drifts(), 0);
  check.AfterEvent();
  EXPECT_EQ(check.drifts(), 1);
  for (int i = 0; i < 3; ++i) check.AfterEvent();
  EXPECT_EQ(check.drifts(), 2);
}

TEST(BookCheck, OfALargeCoreOneReplicaIsRecountedAtATime) {
  FleetOptions options;
  options.replicas = 2;
  TestRooms test(options);
  for (uint64_t id = 1; id <= 80; ++id) test.Running(id, 10, id % 2);
  test.rooms.requests.Find(RequestId(1))->running.prefill_left = Tokens(3);
  BookCheck check(test.rooms, 1);
  check.AfterEvent();
  EXPECT_EQ(check.drifts(), 0);
  check.AfterEvent();
  EXPECT_EQ(check.drifts(), 1);
}

}  // namespace
}  // namespace penstock::testing
