#include "router/core/books/lending.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

class LendingTest : public ::testing::Test {
 protected:
  // A stream of so many tokens, which came in steps of 10 ms; one token is due every 100 ms.
  RequestState* Stream(uint64_t id, int64_t prompt, int64_t tokens) {
    RequestState* request = test_.Decoding(id, prompt);
    test_.Replica().Correct(request, tokens);
    test_.Wait(Duration::Milliseconds(10 * tokens));
    return request;
  }
  double Pace() { return test_.rooms.forecasts.PaceOf(test_.Replica()).now; }
  bool MayPark(const RequestState& request) {
    return test_.rooms.lending.MayPark(request, test_.Replica(), Pace(), test_.now);
  }

  TestRooms test_;
};

TEST_F(LendingTest, AStreamNeedsItsMemoryForTheTimeThatItsTokensTake) {
  const RequestState* request = Stream(1, 1000, 100);
  EXPECT_NEAR(test_.rooms.lending.DutyOf(*request, test_.Replica(), 100), 0.1, 1e-9);
  EXPECT_EQ(test_.rooms.lending.DutyOf(*request, test_.Replica(), 19), 1) << "too slow to get ahead by much";
  const LendingPart part = test_.rooms.lending.PartOf(*request, test_.Replica(), Amount(1100), /*pace=*/100, test_.now);
  EXPECT_EQ(part.needed, Amount(110));
}

TEST_F(LendingTest, OnlyAStreamThatIsFarAheadMayBeParked) {
  EXPECT_FALSE(MayPark(*Stream(1, 1000, 60)));
  EXPECT_TRUE(MayPark(*Stream(2, 1000, 400)));
}

TEST_F(LendingTest, TheTimeAwayIsMuchLongerThanTheTimeToComputeTheContextAgain) {
  // 40k tokens take 2.2 s; 350 tokens are 33 s ahead, and 1,100 are 101 s ahead.
  EXPECT_TRUE(MayPark(*Stream(1, 1'000, 350)));
  EXPECT_FALSE(MayPark(*Stream(2, 40'000, 350)));
  EXPECT_TRUE(MayPark(*Stream(3, 40'000, 1'100)));
}

TEST_F(LendingTest, AStreamThatItsClientWouldSeeStopIsNotParked) {
  RequestState* request = Stream(1, 1000, 400);
  request->arrived.regenerable = false;
  EXPECT_FALSE(MayPark(*request));
  request->arrived.regenerable = true;
  request->arrived.continues = false;
  EXPECT_FALSE(MayPark(*request));
  request->arrived.continues = true;
  request->arrived.observed = false;
  EXPECT_FALSE(MayPark(*request));
  request->arrived.observed = true;
  request->arrived.whole = true;
  EXPECT_FALSE(MayPark(*request)) << "its client waits for the end";
  request->arrived.whole = false;
  request->arrived.sequences = 2;
  EXPECT_FALSE(MayPark(*request));
  request->arrived.sequences = 1;
  request->parkings = Lending::kMostParkings;
  EXPECT_FALSE(MayPark(*request));
}

TEST_F(LendingTest, AClassMayForbidIt) {
  Fleet fleet = MakeFleet({});
  fleet.classes[1].parking = false;
  test_.Configure(fleet);
  EXPECT_FALSE(MayPark(*Stream(1, 1000, 400)));
  fleet.classes[1].parking = true;
  fleet.classes[1].refuse_late = false;
  test_.Configure(fleet);
  EXPECT_FALSE(MayPark(*Stream(2, 1000, 400))) << "its due times are measured only";
}

TEST_F(LendingTest, AFatalPoolLendsNothing) {
  FleetOptions options;
  options.fatal = true;
  test_.Configure(MakeFleet(options));
  EXPECT_FALSE(MayPark(*Stream(1, 1000, 400)));
}

TEST_F(LendingTest, ALoanCountsFromThePoolThatTheStreamLeftUntilItEnds) {
  RequestState* request = Stream(1, 1000, 400);
  test_.rooms.running.CatchUp(test_.Replica(), 1, test_.now);
  PoolLending& lending = test_.rooms.fleet.pool(PoolId(0)).lending();
  EXPECT_EQ(lending.lendable(), Amount(1400));
  const Amount needed = lending.needed();
  EXPECT_LT(needed, Amount(400));
  test_.rooms.running.Leave(request, test_.now);
  EXPECT_EQ(lending, PoolLending());
  request->kept = Tokens(400);
  request->phase = RequestPhase::kAborting;
  const Instant back = test_.rooms.lending.BeginLoan(request);
  EXPECT_EQ(lending.lent(), Amount(1400));
  EXPECT_EQ(lending.needed(), needed);
  EXPECT_EQ(request->parkings, 1);
  // Token 400 is due 42 s after the arrival.
  EXPECT_GT(back, request->arrival + Duration::Seconds(35));
  EXPECT_LT(back, request->arrival + Duration::Seconds(36));
  test_.rooms.lending.EndLoan(request);
  test_.rooms.lending.EndLoan(request);
  EXPECT_EQ(lending, PoolLending());
}

}  // namespace
}  // namespace penstock::testing
