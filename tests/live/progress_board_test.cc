#include "router/live/progress_board.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kNow = Instant::FromNanoseconds(1'000'000);

// A stream on the board, counted by the test.
struct Counted {
  Counted(uint64_t request, uint32_t replica, int64_t sequences = 1)
      : stream(counter, RequestId(request), ReplicaId(replica), sequences) {}
  TokenCounter counter;
  BoardStream stream;
};

TEST(ProgressBoard, StreamsThatFollowTheStepsNeedNoCorrection) {
  ProgressBoard board(2);
  Counted a(1, 0), b(2, 0);
  a.counter.Count(1, kNow);
  b.counter.Count(1, kNow);
  board.Add(0, a.stream);
  board.Add(1, b.stream);
  board.Sample({0});
  a.counter.Count(3, kNow);
  b.counter.Count(2, kNow);
  const auto events = board.Sample({0});
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].replicas.size(), 1u);
  EXPECT_EQ(events[0].replicas[0].steps, 3);
  EXPECT_EQ(events[0].corrections, (std::vector<StreamTokens>{{RequestId(2), Tokens(3)}}));
  EXPECT_TRUE(board.Sample({0}).empty());
  board.Remove(0, a.stream);
  board.Remove(1, b.stream);
}

TEST(ProgressBoard, AFreshStreamTellsItsOwnCountOnce) {
  ProgressBoard board(1);
  Counted a(1, 0);
  a.counter.Count(1, kNow);
  board.Add(0, a.stream);
  const auto events = board.Sample({0});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].corrections, (std::vector<StreamTokens>{{RequestId(1), Tokens(1)}}));
  board.Remove(0, a.stream);
}

TEST(ProgressBoard, AStreamIsLateWhileItHasFewerTokensThanAreDue) {
  ProgressBoard board(1);
  TokenCounter counter;
  const DueTimes due{kNow, Duration::Milliseconds(100)};
  BoardStream stream(counter, RequestId(1), ReplicaId(2), /*sequences=*/2, /*tokens_per_step=*/1, due);
  counter.Count(6, kNow);  // Three of each sequence: the next one is due after 300 ms.
  board.Add(0, stream);
  board.Sample({}, kNow + Duration::Milliseconds(300));
  EXPECT_EQ(board.late(), std::vector<int64_t>());
  board.Sample({}, kNow + Duration::Milliseconds(301));
  EXPECT_EQ(board.late(), (std::vector<int64_t>{0, 0, 1}));
  counter.Count(2, kNow);
  board.Sample({}, kNow + Duration::Milliseconds(302));
  EXPECT_EQ(board.late(), (std::vector<int64_t>{0, 0, 0}));
  board.Remove(0, stream);
}

TEST(ProgressBoard, ReplicasThatShareAPoolShareAnEvent) {
  ProgressBoard board(1);
  Counted a(1, 0), b(2, 1), c(3, 2, 2);
  for (Counted* counted : {&a, &b, &c}) board.Add(0, counted->stream);
  board.Sample({1, 1, 2});
  a.counter.Count(1, kNow);
  b.counter.Count(1, kNow);
  c.counter.Count(4, kNow);
  const auto events = board.Sample({1, 1, 2});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].replicas.size(), 2u);
  EXPECT_EQ(events[1].replicas[0].steps, 2);
  EXPECT_TRUE(events[1].corrections.empty());
  for (Counted* counted : {&a, &b, &c}) board.Remove(0, counted->stream);
}

TEST(ProgressBoard, AStreamThatWaitsForItsClientIsNotCountedBesideAnother) {
  ProgressBoard board(1);
  Counted slow(1, 0), quick(2, 0);
  board.Add(0, slow.stream);
  board.Add(0, quick.stream);
  board.Sample({0}, kNow);
  slow.counter.BeginWait();
  quick.counter.Count(1, kNow + Duration::Milliseconds(20));
  board.Sample({0}, kNow + Duration::Milliseconds(25));
  // The relay reads at once what came meanwhile.
  slow.counter.EndWait(kNow + Duration::Milliseconds(60));
  slow.counter.Count(40, kNow + Duration::Milliseconds(61));
  quick.counter.Count(2, kNow + Duration::Milliseconds(60));
  const auto events = board.Sample({0}, kNow + Duration::Milliseconds(75));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].replicas,
            (std::vector<ReplicaProgress>{{ReplicaId(0), 2, kNow + Duration::Milliseconds(60), false}}));
  EXPECT_EQ(events[0].corrections, (std::vector<StreamTokens>{{RequestId(1), Tokens(40)}}));
  for (Counted* counted : {&slow, &quick}) board.Remove(0, counted->stream);
}

TEST(ProgressBoard, AReplicaWhoseStreamsAllWaitForTheirClientsIsDelayedUntilTheyHaveCaughtUp) {
  ProgressBoard board(1);
  Counted slow(1, 0);
  board.Add(0, slow.stream);
  board.Sample({0}, kNow);
  slow.counter.BeginWait();
  auto events = board.Sample({0}, kNow + Duration::Milliseconds(25));
  ASSERT_EQ(events.size(), 1u) << "no step, but the core must know that silence means nothing";
  EXPECT_EQ(events[0].replicas[0].steps, 0);
  EXPECT_TRUE(events[0].replicas[0].delayed);
  slow.counter.EndWait(kNow + Duration::Milliseconds(40));
  slow.counter.Count(10, kNow + Duration::Milliseconds(41));
  events = board.Sample({0}, kNow + Duration::Milliseconds(50));
  EXPECT_EQ(events[0].replicas[0].steps, 10);
  EXPECT_TRUE(events[0].replicas[0].delayed);
  board.Sample({0}, kNow + Duration::Milliseconds(175));
  slow.counter.Count(1, kNow + Duration::Milliseconds(190));
  events = board.Sample({0}, kNow + Duration::Milliseconds(200));
  EXPECT_FALSE(events[0].replicas[0].delayed);
  board.Remove(0, slow.stream);
}

TEST(ProgressBoard, AStreamThatLeftIsInNoSample) {
  ProgressBoard board(1);
  Counted a(1, 0), b(2, 0);
  board.Add(0, a.stream);
  board.Add(0, b.stream);
  board.Sample({0});
  board.Remove(0, a.stream);
  a.counter.Count(5, kNow);
  b.counter.Count(1, kNow);
  const auto events = board.Sample({0});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].replicas[0].steps, 1);
  board.Remove(0, b.stream);
  EXPECT_TRUE(board.Sample({0}).empty());
}

}  // namespace
}  // namespace penstock
