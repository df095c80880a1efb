#include "bench/simulation/engines/event_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock::bench {
namespace {

TEST(EventQueue, EventsComeInOrderOfTime) {
  EventQueue queue;
  queue.Schedule(Instant::FromSeconds(2), Occurrence::kSample, 1);
  queue.Schedule(Instant::FromSeconds(1), Occurrence::kArrival, 2, 7);

  const Scheduled first = queue.Next();
  EXPECT_EQ(first.kind, Occurrence::kArrival);
  EXPECT_EQ(first.subject, 2u);
  EXPECT_EQ(first.detail, 7u);
  EXPECT_EQ(queue.now(), Instant::FromSeconds(1));
  EXPECT_EQ(queue.elapsed(), Duration::Seconds(1));
  EXPECT_EQ(queue.Next().subject, 1u);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, EventsOfOneTimeComeInOrderOfScheduling) {
  EventQueue queue;
  for (uint64_t i = 0; i < 100; ++i) queue.Schedule(Instant::FromSeconds(1), Occurrence::kDeliver, i);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(queue.Next().subject, i);
}

TEST(EventQueue, TheClockNeverGoesBack) {
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  EventQueue queue;
  queue.Schedule(Instant(), Occurrence::kTimer, 0);
  Instant last;
  for (int i = 0; i < 2000 && !queue.empty(); ++i) {
    const Scheduled event = queue.Next();
    ASSERT_GE(event.at, last);
    ASSERT_EQ(queue.now(), event.at);
    last = event.at;
    for (uint64_t k = 0; k < 1 + random() % 2; ++k) {
      queue.Schedule(last + Duration::Microseconds(static_cast<int64_t>(random() % 50)), Occurrence::kTimer, k);
    }
  }
}

TEST(EventQueue, ARoutineLeavesOutALongTimeWithoutAnyOtherEvent) {
  const Duration period = Duration::Milliseconds(250);
  EventQueue queue;
  queue.Schedule(Instant::FromSeconds(1), Occurrence::kArrival, 0);
  queue.Schedule(Instant::FromSeconds(1e7), Occurrence::kArrival, 1);
  queue.Schedule(Instant(), Occurrence::kSample, 0);
  int samples = 0;
  std::vector<Instant> others;
  Instant last_sample;
  while (!queue.empty() && others.size() < 2) {
    const Scheduled event = queue.Next();
    if (!IsRoutine(event.kind)) {
      others.push_back(event.at);
      continue;
    }
    ++samples;
    EXPECT_EQ((event.at - Instant()).nanoseconds() % period.nanoseconds(), 0) << "it stays in step";
    last_sample = event.at;
    queue.Schedule(queue.now() + queue.IdlePause(period), Occurrence::kSample, 0);
  }
  EXPECT_EQ(others.back(), Instant::FromSeconds(1e7));
  EXPECT_EQ(last_sample, Instant::FromSeconds(1e7) - period) << "it runs again before the next event";
  EXPECT_LT(samples, 5 * (EventQueue::kQuiet + EventQueue::kLead).seconds());
}

TEST(EventQueue, ARoutineLeavesNothingOutSoonAfterAnotherEvent) {
  EventQueue queue;
  queue.Schedule(Instant::FromSeconds(1), Occurrence::kStepEnd, 0);
  queue.Schedule(Instant::FromSeconds(599), Occurrence::kMeasure, 0);
  queue.Schedule(Instant::FromSeconds(1e6), Occurrence::kArrival, 0);
  queue.Next();
  queue.Next();
  EXPECT_EQ(queue.IdlePause(Duration::Seconds(1)), Duration::Seconds(1));
}

}  // namespace
}  // namespace penstock::bench
