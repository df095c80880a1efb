#include "router/core/books/running_requests.h"

#include <gtest/gtest.h>

#include "router/core/admission/book_check.h"
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
  EXPECT_EQ(test.Replica().prefills().work(), PrefillOf(Tokens(0), Tokens(300)));
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
  test.rooms.running.Advance(Steps(51, test.now), test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(301));
  test.rooms.running.CatchUp(test.Replica(), 1, test.now);
  EXPECT_EQ(test.rooms.fleet.ledger().balance(kPool).held, Amount(351));
}

TEST(RunningRequests, ForecastsAreRenewedInTurn) {
  TestRooms test;
  for (uint64_t id = 1; id <= 3; ++id) test.Decoding(id, 100);
  test.Wait(Duration::Seconds(1));
  test.rooms.running.Advance(Steps(11, test.now), test.now);
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
  test.rooms.running.Advance(progress, test.now);
  EXPECT_EQ(test.Replica().streams().Generated(*request), 30);
}

TEST(RunningRequests, ARequestThatLeavesIsInNoBookButTheLedger) {
  TestRooms test;
  RequestState* request = test.Decoding(1, 300);
  test.rooms.running.Leave(request, test.now);
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
  EXPECT_NEAR(static_cast<double>(test.Replica().streams().Generated(*request)), 100, 3);
  test.rooms.running.Leave(request, test.now);
  EXPECT_EQ(test.rooms.running.unobserved(), 0);
}

// Prompts of 2,000 tokens with three named blocks; the engine shares what they have in common.
class SharedPromptTest : public ::testing::Test {
 protected:
  explicit SharedPromptTest(double e = 0) : test_(Sharing(e)) {}
  static Fleet Sharing(double e = 0) {
    Fleet fleet = MakeFleet({});
    fleet.replicas[0].prefix_cache = Tokens(100'000);
    fleet.replicas[0].prior.e = e;
    return fleet;
  }
  RequestState* New(uint64_t id, std::vector<uint64_t> prefix) {
    RequestArrived arrived;
    arrived.request = RequestId(id);
    arrived.service_class = ClassId(1);
    arrived.prompt = Tokens(2000);
    arrived.prefix = std::move(prefix);
    return test_.New(arrived);
  }
  RequestState* Run(uint64_t id, std::vector<uint64_t> prefix) { return test_.Start(New(id, std::move(prefix))); }
  void End(RequestState* request) {
    test_.rooms.running.Leave(request, test_.now);
    test_.rooms.fleet.ledger().Release(request->running.lease);
    test_.rooms.requests.Erase(request->arrived.request);
  }
  int64_t Held() const { return test_.rooms.fleet.ledger().balance(kPool).held.value(); }
  double Forecast() const { return test_.rooms.fleet.pool(kPool).growth().Present(test_.now); }
  std::string Drift() const { return BookCheck(test_.rooms, 1).FirstDrift(); }

  TestRooms test_;
};

TEST_F(SharedPromptTest, FiveRequestsOfOneSessionHoldItsPromptOnce) {
  for (uint64_t id = 1; id <= 5; ++id) Run(id, {1, 2, 3});
  EXPECT_EQ(Held(), 3 * 512 + 5 * (2000 - 3 * 512));
  EXPECT_NEAR(Forecast(), 3 * 512 + 5 * (2000 - 3 * 512), 1);
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, OnlyTheBlocksInCommonAreShared) {
  const RequestState* first = Run(1, {1, 2, 3});
  const RequestState* second = Run(2, {1, 8, 9});
  EXPECT_EQ(first->running.shared, Tokens(512));
  EXPECT_EQ(second->running.shared, Tokens(512));
  EXPECT_EQ(Held(), 2 * 2000 - 512);
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, BlocksOfARequestThatLeavesGoToTheOneThatIsLeft) {
  RequestState* first = Run(1, {1, 2, 3});
  RequestState* second = Run(2, {1, 2, 9});
  End(first);
  EXPECT_EQ(second->running.shared, Tokens(0));
  EXPECT_EQ(Held(), 2000);
  EXPECT_NEAR(Forecast(), 2000, 1);
  EXPECT_EQ(second->pools[0].holding.held, Amount(2000));
  EXPECT_EQ(Drift(), "");
  End(second);
  EXPECT_EQ(Held(), 0);
  EXPECT_EQ(test_.rooms.fleet.ledger().leases(), 0);
  EXPECT_EQ(Forecast(), 0);
}

TEST_F(SharedPromptTest, BytesStayWhileUsersRemain) {
  RequestState* first = Run(1, {1, 2, 3});
  Run(2, {1, 2, 3});
  Run(3, {1, 2, 3});
  End(first);
  EXPECT_EQ(Held(), 3 * 512 + 2 * (2000 - 3 * 512));
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, ANewcomerAddsOnlyTheBlocksThatNobodyHolds) {
  Run(1, {1, 2, 3});
  RequestState* second = New(2, {1, 2, 9});
  EXPECT_FLOAT_EQ(ContributionOf(test_.MemberOf(*second)).mean[0], 2000 - 1024);
  const double before = Forecast();
  test_.Start(second);
  EXPECT_NEAR(Forecast(), before + 2000 - 1024, 1);
}

TEST_F(SharedPromptTest, APoolWhoseOverflowIsFatalHasACopyPerRequest) {
  Fleet fleet = Sharing();
  fleet.pools[0].overflow_fatal = true;
  test_.Configure(fleet);
  Run(1, {1, 2, 3});
  Run(2, {1, 2, 3});
  EXPECT_EQ(Held(), 4000);
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, AnEngineThatSharesNothingHasACopyPerRequest) {
  Fleet fleet = Sharing();
  fleet.replicas[0].shares_prompts = false;
  test_.Configure(fleet);
  Run(1, {1, 2, 3});
  const RequestState* second = Run(2, {1, 2, 3});
  EXPECT_EQ(Held(), 4000);
  EXPECT_EQ(second->running.hope.expected, Tokens(3 * 512));
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, AReloadThatMovesTheReplicaMovesTheSharedMemory) {
  RequestState* first = Run(1, {1, 2, 3});
  RequestState* second = Run(2, {1, 2, 3});
  Fleet fleet = Sharing();
  fleet.pools.push_back(fleet.pools[0]);
  fleet.replicas[0].pools[0].pool = PoolId(1);
  test_.Configure(fleet);
  EXPECT_EQ(test_.rooms.fleet.ledger().balance(PoolId(1)).held, Amount(3 * 512));
  EXPECT_EQ(Drift(), "");
  End(first);
  End(second);
  EXPECT_EQ(test_.rooms.fleet.ledger().leases(), 0);
  EXPECT_EQ(Drift(), "");
}

TEST_F(SharedPromptTest, WhatRunningRequestsLeaveFreeBoundsWhatEndedOnesLeft) {
  Fleet fleet = Sharing();
  fleet.pools[0].capacity = Amount(4 * 512);
  test_.Configure(fleet);
  RequestState* first = Run(1, {1, 2, 3});
  test_.rooms.running.TakeFirstToken(first, test_.now);
  const RequestState again = *first;
  End(first);
  EXPECT_EQ(test_.Replica().HopeFor(again).left, Tokens(3 * 512));
  test_.Running(2, 3 * 512);
  EXPECT_EQ(test_.Replica().HopeFor(again).left, Tokens(512));
}

TEST_F(SharedPromptTest, AReplicaLearnsFromTheCachedTokensThatItsEngineReports) {
  RequestState* first = Run(1, {1, 2, 3});
  test_.rooms.running.TakeFirstToken(first, test_.now);
  End(first);
  RequestState* second = Run(2, {1, 2, 3});
  EXPECT_EQ(second->running.hope.expected, Tokens(3 * 512));
  test_.rooms.running.Finish(second, Tokens(0));
  EXPECT_LT(test_.Replica().prompts.reliability().share(), 1);
  CoreView view;
  test_.rooms.running.Show(view);
  EXPECT_EQ(view.counters.cached_expected, 3 * 512);
  EXPECT_EQ(view.counters.cached_found, 0);
}

TEST_F(SharedPromptTest, APromptWithoutBlocksTeachesNothing) {
  test_.rooms.running.Finish(test_.Running(1, 300), Tokens(100));
  CoreView view;
  test_.rooms.running.Show(view);
  EXPECT_EQ(view.counters.prompts_compared, 0);
}

TEST_F(SharedPromptTest, WithoutAReportTheTimeOfTheFirstTokenTells) {
  RequestState* first = Run(1, {1, 2, 3});
  test_.rooms.running.TakeFirstToken(first, test_.now);
  End(first);
  RequestState* second = New(2, {1, 2, 3});
  std::vector<GrowthVector> growth = {ContributionOf(test_.MemberOf(*second))};
  // The hits save 77 ms of prefill; the first token was forecast after 20 ms and comes after 20 + 38.
  test_.rooms.running.Start(second, ReplicaId(0), growth, 0.020, test_.now);
  test_.Wait(Duration::Milliseconds(58));
  test_.rooms.running.TakeFirstToken(second, test_.now);
  EXPECT_NEAR(second->running.hope.seen.AsDouble(), 3 * 512 / 2, 20);
  test_.rooms.running.Finish(second, Tokens(-1));
  EXPECT_LT(test_.Replica().prompts.reliability().share(), 1);
}

TEST_F(SharedPromptTest, AFirstTokenInTimeShowsThePartThatWasExpectedAndNoMore) {
  RequestState* first = Run(1, {1, 2, 3});
  test_.rooms.running.TakeFirstToken(first, test_.now);
  End(first);
  test_.Replica().prompts.reliability().Observe(Tokens(3 * 512), Tokens(0));
  RequestState* second = New(2, {1, 2, 3});
  std::vector<GrowthVector> growth = {ContributionOf(test_.MemberOf(*second))};
  test_.rooms.running.Start(second, ReplicaId(0), growth, 0.020, test_.now);
  ASSERT_LT(second->running.hope.expected, Tokens(3 * 512));
  test_.Wait(Duration::Milliseconds(20));
  test_.rooms.running.TakeFirstToken(second, test_.now);
  EXPECT_EQ(second->running.hope.seen, second->running.hope.expected) << "else a cache that fails seems to recover";
}

// A token pair costs 20 ns, so that the three blocks take 77 ms by tokens and 47 ms by pairs.
class QuadraticPromptTest : public SharedPromptTest {
 protected:
  QuadraticPromptTest() : SharedPromptTest(20) {}
};

TEST_F(QuadraticPromptTest, AFirstTokenShowsTheCachedTokensThoughTheLastOfAPromptTakeLonger) {
  RequestState* first = Run(1, {1, 2, 3});
  test_.rooms.running.TakeFirstToken(first, test_.now);
  End(first);
  RequestState* second = New(2, {1, 2, 3});
  std::vector<GrowthVector> growth = {ContributionOf(test_.MemberOf(*second))};
  test_.rooms.running.Start(second, ReplicaId(0), growth, 0.020, test_.now);
  EXPECT_NEAR(second->running.hope.Seconds(second->running.hope.All()), 1536 * 0.05e-3 + 1536.0 * 1536 * 20e-9, 1e-9);
  // One block of three was there: 512 x 0.05 ms and 512^2 pairs of the hoped time were saved.
  const double saved = 512 * 0.05e-3 + 512.0 * 512 * 20e-9;
  test_.Wait(Duration::Seconds(0.020 + second->running.hope.Seconds(second->running.hope.All()) - saved));
  test_.rooms.running.TakeFirstToken(second, test_.now);
  EXPECT_EQ(second->running.hope.seen, Tokens(512));
}

}  // namespace
}  // namespace penstock::testing
