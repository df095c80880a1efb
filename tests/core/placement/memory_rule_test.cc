#include "router/core/placement/memory_test.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

FleetOptions Pool(int64_t tokens) {
  FleetOptions options;
  options.pool_tokens = tokens;
  return options;
}

std::optional<double> ShareWith(TestRooms& test, const RequestState* request, uint32_t replica = 0) {
  std::vector<GrowthVector> growth;
  return test.rooms.memory.PeakShareWith(*request, test.Replica(replica), test.now, growth);
}

TEST(MemoryTest, ALoneRequestMayEnterAnEmptyPoolWhateverItsForecast) {
  TestRooms test(Pool(1000));
  const std::optional<double> share = ShareWith(test, test.New(1, 990));
  ASSERT_TRUE(share.has_value());
  EXPECT_GT(*share, 0.99);
}

TEST(MemoryTest, APoolTakesNoRequestWhoseForecastItCouldNotHold) {
  TestRooms test(Pool(1000));
  test.Decoding(1, 400);
  EXPECT_EQ(ShareWith(test, test.New(2, 590)), std::nullopt);
  RequestState* small = test.New(3, 10);
  small->arrived.max_output = Tokens(5);
  EXPECT_TRUE(ShareWith(test, small).has_value());
}

// The streams outgrow the pool in a while; the short answer is over in a second.
TEST(MemoryTest, ARequestThatLeavesBeforeThePeakEntersAndPaysThePriceOfThePeak) {
  TestRooms test(Pool(1000));
  for (uint64_t id = 10; id < 13; ++id) test.Decoding(id, 250);
  RequestState* brief = test.New(2, 100);
  brief->arrived.max_output = Tokens(10);
  const std::optional<double> share = ShareWith(test, brief);
  ASSERT_TRUE(share.has_value());
  EXPECT_GT(*share, 1);
  EXPECT_EQ(ShareWith(test, test.New(3, 100)), std::nullopt) << "it may stay until the peak";
  EXPECT_TRUE(ShareWith(test, brief).has_value()) << "the horizon where the other found no room says nothing";
}

TEST(MemoryTest, ARequestIsThereUntilItsPromptIsComputed) {
  Fleet fleet = MakeFleet(Pool(1000));
  fleet.replicas[0].prior.d = 100;  // Ten seconds for the prompt; the streams outgrow the pool meanwhile.
  TestRooms test(fleet);
  for (uint64_t id = 10; id < 13; ++id) test.Decoding(id, 250);
  RequestState* brief = test.New(2, 100);
  brief->arrived.max_output = Tokens(1);
  EXPECT_EQ(ShareWith(test, brief), std::nullopt);
  brief->waiting.cached = Tokens(99);
  EXPECT_TRUE(ShareWith(test, brief).has_value());
}

TEST(MemoryTest, APoolThatWasFullJustNowGivesTheSameVerdictAtOneHorizon) {
  TestRooms test(Pool(1000));
  test.Decoding(1, 400);
  const RequestState* large = test.New(2, 590);
  EXPECT_EQ(ShareWith(test, large), std::nullopt);
  EXPECT_EQ(ShareWith(test, large), std::nullopt);
  RequestState* small = test.New(3, 10);
  small->arrived.max_output = Tokens(5);
  EXPECT_TRUE(ShareWith(test, small).has_value());
}

TEST(MemoryTest, ContributionsAreKeptOnlyWhereThereIsRoom) {
  TestRooms test(Pool(1000));
  std::vector<GrowthVector> growth;
  EXPECT_TRUE(test.rooms.memory.PeakShareWith(*test.New(1, 100), test.Replica(), test.now, growth).has_value());
  EXPECT_EQ(growth.size(), 1u);
  test.Decoding(2, 500);
  EXPECT_FALSE(test.rooms.memory.PeakShareWith(*test.New(3, 490), test.Replica(), test.now, growth).has_value());
  EXPECT_EQ(growth.size(), 1u);
}

TEST(MemoryTest, DrainingMemoryIsNotAvailableAndItsPoolIsNotEmpty) {
  TestRooms test(Pool(1000));
  RequestState* gone = test.Decoding(1, 500);
  test.rooms.running.Leave(gone, test.now);
  test.rooms.fleet.ledger().Drain(gone->running.lease, Instant::Never());
  EXPECT_EQ(ShareWith(test, test.New(2, 600)), std::nullopt);
}

TEST(MemoryTest, WithoutPoolsTheShareIsThatOfTheBatch) {
  FleetOptions options = Pool(1000);
  options.max_sequences = 4;
  Fleet fleet = MakeFleet(options);
  fleet.replicas[0].pools.clear();
  TestRooms test(fleet);
  EXPECT_EQ(ShareWith(test, test.New(1, 100)), 0.25);
  test.Running(2, 100);
  EXPECT_EQ(ShareWith(test, test.New(3, 100)), 0.5);
}

TEST(ForecastRule, TheBoundAtOneHorizonIsNeverAboveTheBound) {
  TestRooms test(Pool(100'000));
  const ForecastRule rule;
  for (uint64_t id = 1; id <= 20; ++id) test.Decoding(id, static_cast<int64_t>(id) * 100);
  const RequestState* request = test.New(100, 500);
  const GrowthMember member = test.MemberOf(*request);
  const PoolState& pool = test.rooms.fleet.pool(PoolId(0));
  const GrowthVector joining = ContributionOf(member);
  const PoolPeak peak = rule.BoundWith(pool, joining, LastHorizonOf(joining), test.now);
  EXPECT_FALSE(rule.SurelyAbove(peak.bound * 1.0001, pool, peak.horizon, member, test.now));
  EXPECT_TRUE(rule.SurelyAbove(peak.bound * 0.99, pool, peak.horizon, member, test.now));
}

// The prompts, in steps of 50 tokens, for which a pool of 20,000 has room by the mean only.
int RoomByTheMeanOnly(bool overflow_fatal) {
  Fleet fleet = MakeFleet(Pool(20'000));
  fleet.pools[0].overflow_fatal = overflow_fatal;
  TestRooms test(fleet);
  test.Decoding(1, 5'000);
  int found = 0;
  uint64_t id = 1;
  for (int64_t prompt = 5'000; prompt < 20'000; prompt += 50) {
    RequestState* request = test.New(++id, prompt);
    request->arrived.prompt_sigma = 0.03;
    request->arrived.max_output = Tokens(10);
    const bool with_margin = ShareWith(test, request).has_value();
    request->waiting.reservation.by_mean = true;
    const bool by_mean = ShareWith(test, request).has_value();
    EXPECT_TRUE(by_mean || !with_margin) << prompt;
    found += by_mean && !with_margin ? 1 : 0;
  }
  return found;
}

TEST(MemoryTest, ARequestThatIsHeldToTheMeanNeedsNoMarginWhereAnOverflowIsNotFatal) {
  EXPECT_GT(RoomByTheMeanOnly(false), 0);
  EXPECT_EQ(RoomByTheMeanOnly(true), 0);
}

// All its memory could be lent: the bound is that of the present amounts.
TEST(ForecastRule, TheBoundAtOneHorizonCountsWhatStreamsHoldThatCouldLendAll) {
  TestRooms test(Pool(100'000));
  const ForecastRule rule;
  for (uint64_t id = 1; id <= 20; ++id) test.Decoding(id, static_cast<int64_t>(id) * 100);
  PoolState& pool = test.rooms.fleet.pool(PoolId(0));
  const GrowthMember member = test.MemberOf(*test.New(100, 500));
  for (const int64_t lent : {0, 200, 90'000}) {
    pool.lending().Join({Amount(50'000), Amount(0)});
    if (lent > 0) pool.lending().Lend({PoolId(0), Amount(lent), Amount(0)});
    const GrowthVector joining = ContributionOf(member);
    const PoolPeak peak = rule.BoundWith(pool, joining, LastHorizonOf(joining), test.now);
    EXPECT_FALSE(rule.SurelyAbove(peak.bound * 1.0001, pool, peak.horizon, member, test.now)) << lent;
    EXPECT_TRUE(rule.SurelyAbove(peak.bound * 0.99, pool, peak.horizon, member, test.now)) << lent;
    const std::optional<PoolPeak> floor = rule.Floor(pool, test.now);
    EXPECT_GE(peak.bound, floor->bound) << lent;
    EXPECT_GE(floor->bound, pool.growth().Present(test.now) * 0.9999) << lent;
  }
}

}  // namespace
}  // namespace penstock::testing
