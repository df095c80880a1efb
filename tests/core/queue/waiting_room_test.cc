#include "router/core/queue/waiting_room.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

TEST(WaitingRoom, AWaitingRequestCountsOnceInNumberAndBytes) {
  TestRooms test;
  RequestState* request = test.New(1, 100);
  request->arrived.body = Bytes(500);
  test.rooms.waiting.Push(request, test.now);
  test.Waiting(2, 100);
  EXPECT_EQ(test.rooms.waiting.requests(), 2);
  EXPECT_TRUE(test.rooms.waiting.SumsHold());
  test.rooms.waiting.Remove(request);
  EXPECT_EQ(test.rooms.waiting.requests(), 1);
  EXPECT_TRUE(test.rooms.waiting.SumsHold());
}

TEST(WaitingRoom, TheFirstCheckIsThatOfTheRequestThatIsDueFirst) {
  TestRooms test;
  EXPECT_FALSE(test.rooms.waiting.FirstCheck().has_value());
  RequestState* first = test.New(1, 100);
  RequestState* second = test.New(2, 100);
  test.rooms.waiting.Push(first, test.now + Duration::Seconds(2));
  test.rooms.waiting.Push(second, test.now + Duration::Seconds(3));
  EXPECT_EQ(test.rooms.waiting.FirstCheck()->second, RequestId(1));
  test.rooms.waiting.CheckAt(first, test.now + Duration::Seconds(9));
  EXPECT_EQ(test.rooms.waiting.FirstCheck()->second, RequestId(2));
  EXPECT_TRUE(test.rooms.waiting.SumsHold());
}

TEST(WaitingRoom, ItIsOverItsLimitsByNumberOrByBytes) {
  TestRooms test;
  CoreLimits limits;
  limits.max_queued_requests = 1;
  limits.max_queued_bytes = Bytes(100);
  RequestState* request = test.New(1, 100);
  request->arrived.body = Bytes(100);
  test.rooms.waiting.Push(request, test.now);
  EXPECT_FALSE(test.rooms.waiting.OverLimits(limits));
  limits.max_queued_bytes = Bytes(99);
  EXPECT_TRUE(test.rooms.waiting.OverLimits(limits));
  limits.max_queued_bytes = Bytes(100);
  test.Waiting(2, 100);
  EXPECT_TRUE(test.rooms.waiting.OverLimits(limits));
}

TEST(WaitingRoom, ARetryIsAskedForAfterTheTimeThatTheLaneTakesToDrain) {
  TestRooms test;
  EXPECT_EQ(test.rooms.waiting.RetryAfter(ModelId(0), test.now), Duration::Seconds(1));
  EXPECT_EQ(test.rooms.waiting.RetryAfter(ModelId(7), test.now), Duration::Seconds(1));
  RequestState* sent = test.New(1000, 100);
  for (int i = 0; i < 20; ++i) {
    test.Wait(Duration::Seconds(1));
    test.rooms.waiting.lane(ModelId(0)).Dispatched(*sent, test.now);
  }
  for (uint64_t id = 1; id <= 20; ++id) test.Waiting(id, 100);
  EXPECT_NEAR(test.rooms.waiting.RetryAfter(ModelId(0), test.now).seconds(), 21, 5);
  for (uint64_t id = 21; id <= 200; ++id) test.Waiting(id, 100);
  EXPECT_EQ(test.rooms.waiting.RetryAfter(ModelId(0), test.now), Duration::Seconds(60));
}

TEST(WaitingRoom, AReloadHasEveryWaitingRequestTriedEverywhereAgain) {
  TestRooms test;
  RequestState* request = test.Waiting(1, 100);
  request->waiting.tries.everywhere = true;
  request->waiting.tries.failed_on = {0};
  test.Configure(MakeFleet({}));
  EXPECT_FALSE(request->waiting.tries.everywhere);
  EXPECT_TRUE(request->waiting.tries.failed_on.empty());
}

TEST(WaitingRoom, AViewShowsTheLongestWaitOfEachClassNotThatOfTheHead) {
  TestRooms test;
  RequestState* oldest = test.New(1, 100);
  oldest->waiting.place = test.now + Duration::Seconds(500);
  test.rooms.waiting.Push(oldest, test.now + Duration::Seconds(30));
  test.Wait(Duration::Seconds(3));
  test.Waiting(2, 100);
  test.Wait(Duration::Seconds(1));
  CoreView view;
  test.rooms.waiting.Show(test.rooms.fleet.spec(), view, test.now);
  ASSERT_EQ(view.lanes.size(), 3u);
  EXPECT_EQ(view.lanes[1].waiting, 2);
  EXPECT_EQ(view.lanes[1].oldest_wait, Duration::Seconds(4));
  EXPECT_EQ(view.lanes[0].oldest_wait, Duration());
}

}  // namespace
}  // namespace penstock::testing
