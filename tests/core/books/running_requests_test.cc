#include "router/core/books/running_requests.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

const PoolId kPool(0);

Progress Steps(int64_t steps, Instant end) { return {{{ReplicaId(0), steps, end}}, {}}; }

TEST(RunningRequests, ARequestThatStartsHoldsItsPromptAndPromisesItsExpectedEnd) {
  TestRooms test;
  test.Running(1, 300);
  const MemoryLedger& ledger = test.rooms.fleet.ledger();
  EXPECT_EQ(ledger.balance(kPool).held, Amount(300));
  EXPECT_GT(ledger.balance(kPool).promised, Amount(300));
  EXPECT_EQ(test.rooms.fleet.pool(kPool).growth().members(), 1);
  EXPECT_EQ(test.Replica().prefills().tokens(), Tokens(300));
}

TEST(RunningRequests, OnlyTheFirstOfTwoFirstTokensCounts) {
  TestRooms test;
  RequestState* request = test.Running(1, 300);
  EXPECT_TRUE(test.rooms.running.TakeFirstToken(request, test.now));
  EXPECT_FALSE(test.rooms.running.TakeFirstToken(request, test.now));
  EXPECT_EQ(test.Replica().streams().sequences(), 1);
}

TEST(RunningRequests, GeneratedTokensAreHeldOnceTheForecastIsRenewed) {
  TestRooms test;
  test.Decoding(1, 300);
  test.Wait(Duration::Seconds(1));
  test.rooms.running.Advance(Steps(51, test.now), test.rooms.requests, test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(301));
  test.rooms.running.CatchUp(test.Replica(), 1, test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(351));
}

TEST(RunningRequests, ForecastsAreRenewedInTurn) {
  TestRooms test;
  for (uint64_t id = 1; id <= 3; ++id) test.Decoding(id, 100);
  test.Wait(Duration::Seconds(1));
  test.rooms.running.Advance(Steps(11, test.now), test.rooms.requests, test.now);
  test.rooms.running.CatchUp(test.Replica(), 2, test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(300 + 11 + 11 + 1));
  test.rooms.running.CatchUp(test.Replica(), 2, test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(300 + 33));
}

TEST(RunningRequests, ACorrectionSetsTheCountOfOneStreamWithoutItsKeptTokens) {
  TestRooms test;
  RequestState* request = test.New(1, 300);
  request->kept = Tokens(20);
  test.Start(request);
  test.rooms.running.TakeFirstToken(request, test.now);
  Progress progress = Steps(1, test.now);
  progress.corrections = {{RequestId(1), Tokens(50)}, {RequestId(99), Tokens(5)}};
  test.rooms.running.Advance(progress, test.rooms.requests, test.now);
  EXPECT_EQ(test.Replica().Generated(*request), 30);
}

TEST(RunningRequests, ARequestThatLeavesIsInNoBookButTheLedger) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  test.rooms.running.Leave(request);
  EXPECT_FALSE(test.Replica().busy());
  EXPECT_EQ(test.rooms.fleet.pool(kPool).growth().members(), 0);
  EXPECT_GT(test.rooms.fleet.ledger().balance(kPool).promised, Amount(0));
}

TEST(RunningRequests, ARequestWithoutEventsAdvancesByTheForecastStep) {
  TestRooms test;
  RequestArrived arrived;
  arrived.request = RequestId(1);
  arrived.service_class = ClassId(1);
  arrived.prompt = Tokens(100);
  arrived.observed = false;
  RequestState* request = test.Start(test.New(arrived));
  EXPECT_EQ(test.rooms.running.unobserved(), 1);
  test.Wait(Duration::Seconds(1));
  test.rooms.running.CatchUp(test.Replica(), 1, test.now);
  EXPECT_EQ(request->phase, RequestPhase::kDecoding);
  test.Wait(Duration::Seconds(1));
  test.rooms.running.CatchUp(test.Replica(), 1, test.now);
  EXPECT_NEAR(static_cast<double>(test.Replica().Generated(*request)), 100, 3);
  test.rooms.running.Leave(request);
  EXPECT_EQ(test.rooms.running.unobserved(), 0);
}

}  // namespace
}  // namespace penstock::testing
