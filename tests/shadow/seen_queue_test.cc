#include "app/shadow/seen_queue.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Event Closed(uint64_t id) { return RequestClosed{RequestId(id)}; }

uint64_t FrontId(const SeenQueue& queue) { return std::get<RequestClosed>(queue.Front()->event).request.value(); }

TEST(SeenQueue, GivesEventsInOrder) {
  SeenQueue queue(4);
  EXPECT_EQ(queue.Front(), nullptr);
  queue.Push(Closed(1), Instant::FromSeconds(1), {Park{RequestId(9)}});
  queue.Push(Closed(2), Instant::FromSeconds(2), {});
  EXPECT_EQ(FrontId(queue), 1u);
  EXPECT_EQ(queue.Front()->actions.size(), 1u);
  queue.Pop();
  EXPECT_EQ(FrontId(queue), 2u);
  EXPECT_TRUE(queue.Front()->actions.empty());
}

TEST(SeenQueue, AFullQueueDropsUntilItWasEmptied) {
  SeenQueue queue(2);
  for (uint64_t id = 1; id <= 3; ++id) queue.Push(Closed(id), Instant(), {});
  EXPECT_TRUE(queue.dropping());
  queue.Pop();
  queue.Push(Closed(4), Instant(), {});
  EXPECT_EQ(queue.dropped(), 2) << "a gap stays one gap";
  queue.Pop();
  EXPECT_EQ(queue.Front(), nullptr);
  EXPECT_TRUE(queue.Recover().empty());
  queue.Push(Closed(5), Instant(), {});
  EXPECT_EQ(FrontId(queue), 5u);
}

TEST(SeenQueue, EventsOfTheFleetAreNotLost) {
  SeenQueue queue(1);
  queue.Push(Closed(1), Instant(), {});
  queue.Push(Closed(2), Instant(), {});
  queue.Push(ReplicaHealth{ReplicaId(3), Health::kDown}, Instant::FromSeconds(5), {});
  queue.Pop();
  const std::vector<SeenEvent> kept = queue.Recover();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(std::get<ReplicaHealth>(kept[0].event).replica, ReplicaId(3));
  EXPECT_EQ(queue.dropped(), 1);
}

}  // namespace
}  // namespace penstock
