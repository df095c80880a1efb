#include "router/policies/kit/rival_queue.h"

#include <gtest/gtest.h>

#include "tests/policies/fleet_for_test.h"

namespace penstock {
namespace {

RivalQueue::Waiting At(double arrived, uint64_t id, double order = 0, double expires = 100) {
  RivalQueue::Waiting waiting;
  waiting.request = Stepper::Request(id);
  waiting.arrived = Instant::FromSeconds(arrived);
  waiting.expires = Instant::FromSeconds(expires);
  waiting.order = order;
  return waiting;
}

TEST(RivalQueue, ALaneGoesByOrderThenByArrival) {
  RivalQueue queue;
  queue.Push(At(1, 1, 5));
  queue.Push(At(3, 2, 2));
  queue.Push(At(2, 3, 2));
  EXPECT_EQ(queue.WaitOf(RequestId(1))->position, 2);
  for (uint64_t id : {3, 2, 1}) {
    EXPECT_EQ(queue.First(ModelId(0))->request.request, RequestId(id));
    queue.Remove(RequestId(id));
  }
  EXPECT_EQ(queue.First(ModelId(0)), nullptr);
  EXPECT_TRUE(queue.Models().empty());
}

TEST(RivalQueue, SumsFollowPushAndRemove) {
  RivalQueue queue;
  queue.Push(At(1, 1));
  queue.Push(At(2, 2));
  EXPECT_EQ(queue.requests(), 2);
  EXPECT_EQ(queue.bytes(), Bytes(800));
  EXPECT_EQ(queue.OthersOfClass(*queue.Find(RequestId(2))), 1);
  queue.Remove(RequestId(1));
  EXPECT_FALSE(queue.Contains(RequestId(1)));
  EXPECT_EQ(queue.requests(), 1);
  EXPECT_EQ(queue.bytes(), Bytes(400));
}

TEST(RivalQueue, TheEarliestExpiryComesFirstAndCanBeRescheduled) {
  RivalQueue queue;
  EXPECT_FALSE(queue.FirstExpiry().has_value());
  queue.Push(At(1, 1, 0, 9));
  queue.Push(At(2, 2, 0, 8));
  EXPECT_EQ(queue.FirstExpiry()->second, RequestId(2));
  queue.Reschedule([](RivalQueue::Waiting& waiting) { waiting.expires = waiting.arrived + Duration::Seconds(5); });
  EXPECT_EQ(*queue.FirstExpiry(), (std::pair{Instant::FromSeconds(6), RequestId(1)}));
}

TEST(RivalQueue, RetryAfterFollowsTheRateOfForwards) {
  RivalQueue queue;
  EXPECT_EQ(queue.RetryAfter(Instant()), Duration::Seconds(60));
  for (int i = 0; i < 5; ++i) queue.CountForward(Instant::FromSeconds(10));
  EXPECT_EQ(queue.RetryAfter(Instant::FromSeconds(10)), Duration::Seconds(2));  // One request at 0.5/s.
  EXPECT_EQ(queue.RetryAfter(Instant::FromSeconds(1000)), Duration::Seconds(60));
}

}  // namespace
}  // namespace penstock
