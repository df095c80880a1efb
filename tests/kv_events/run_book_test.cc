#include "router/kv_events/run_book.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Turn = RunBook::Turn;
const Instant kNow = Instant() + Duration::Seconds(5);

RequestArrived Arrival(uint64_t id) {
  RequestArrived arrived;
  arrived.request = RequestId(id);
  arrived.prefix = {1, 2};
  return arrived;
}

Forward ForwardTo(uint64_t id, uint32_t replica) {
  Forward forward;
  forward.request = RequestId(id);
  forward.replica = ReplicaId(replica);
  return forward;
}

RequestClosed Closed(uint64_t id, Outcome outcome = Outcome::kFinished) {
  RequestClosed closed;
  closed.request = RequestId(id);
  closed.outcome = outcome;
  closed.prompt = Tokens(100);
  closed.output = Tokens(3);
  return closed;
}

TEST(RunBooks, ARequestIsPutTogetherFromItsEvents) {
  RunBook book;
  EXPECT_EQ(book.Take({Arrival(1), kNow}).turn, Turn::kNothing);
  const auto dispatched = book.Take({ForwardTo(1, 4), kNow});
  EXPECT_EQ(dispatched.turn, Turn::kDispatched);
  EXPECT_EQ(dispatched.replica, ReplicaId(4));
  const auto closed = book.Take({Closed(1), kNow + Duration::Seconds(1)});
  EXPECT_EQ(closed.turn, Turn::kClosed);
  EXPECT_EQ(closed.run.prefix.size(), 2u);
  EXPECT_EQ(closed.run.prompt, Tokens(100));
  EXPECT_EQ(closed.run.dispatched, kNow);
  EXPECT_EQ(book.size(), 0u);
}

TEST(RunBooks, ARequestThatGoesOnElsewhereHasNoLength) {
  RunBook book;
  book.Take({Arrival(1), kNow});
  book.Take({ForwardTo(1, 4), kNow});
  RequestRequeued requeued;
  requeued.request = RequestId(1);
  EXPECT_EQ(book.Take({requeued, kNow}).turn, Turn::kGone);
  EXPECT_FALSE(book.Take({ForwardTo(1, 5), kNow}).run.plain);
}

TEST(RunBooks, ARequestThatFailedIsGone) {
  RunBook book;
  book.Take({Arrival(1), kNow});
  book.Take({ForwardTo(1, 4), kNow});
  EXPECT_EQ(book.Take({Closed(1, Outcome::kClientGone), kNow}).turn, Turn::kGone);
  EXPECT_EQ(book.size(), 0u);
}

TEST(RunBooks, RequestsThatNeverRanAndStrangersAreNothing) {
  RunBook book;
  book.Take({Arrival(1), kNow});
  EXPECT_EQ(book.Take({Closed(1), kNow}).turn, Turn::kNothing);
  EXPECT_EQ(book.Take({Closed(9), kNow}).turn, Turn::kNothing);
  EXPECT_EQ(book.size(), 0u);
}

TEST(RunBooks, OnlyWhatMattersIsSeen) {
  std::vector<SeenAt> seen;
  SeeRuns(TimerFired{}, kNow, {Park{}, ForwardTo(1, 2)}, seen);
  ASSERT_EQ(seen.size(), 1u);
  SeeRuns(Arrival(1), kNow, {}, seen);
  EXPECT_EQ(seen.size(), 2u);
}

}  // namespace
}  // namespace penstock
