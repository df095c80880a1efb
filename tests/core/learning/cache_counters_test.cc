#include "router/core/learning/cache_counters.h"

#include <gtest/gtest.h>

#include "tests/core/rooms_for_test.h"

namespace penstock::testing {
namespace {

TEST(CacheCounters, ThePartThatTheEngineFoundIsThatOfThePromptsBetweenTwoReports) {
  CacheCounters counters;
  EXPECT_FALSE(counters.Take(100'000, 50'000)) << "the counters are older than the router";
  for (int i = 0; i < 10; ++i) counters.Computed(Tokens(2000), Tokens(500), Tokens(1000), /*shown=*/false);
  // The cache had 5,000 of 20,000 tokens for certain, and 10,000 were hoped for.
  const auto seen = counters.Take(120'000, 60'000);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->expected, Tokens(10'000));
  EXPECT_EQ(seen->found, Tokens(5000));
  EXPECT_FALSE(counters.Take(140'000, 60'000)) << "nothing was expected since";
}

TEST(CacheCounters, PromptsThatTheirFirstTokensShowedAreNoEvidence) {
  CacheCounters counters;
  counters.Take(0, 0);
  counters.Computed(Tokens(10'000), Tokens(0), Tokens(8000), /*shown=*/true);
  EXPECT_FALSE(counters.Take(10'000, 8000));
  counters.Computed(Tokens(10'000), Tokens(0), Tokens(8000), /*shown=*/false);
  const auto seen = counters.Take(20'000, 8000);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->expected, Tokens(8000));
  EXPECT_EQ(seen->found, Tokens(4000));
}

TEST(CacheCounters, WhereAnswersHaveACountOrOthersSendMostTheyAreNotUsed) {
  CacheCounters others;
  others.Take(0, 0);
  others.Computed(Tokens(10'000), Tokens(0), Tokens(8000), false);
  EXPECT_FALSE(others.Take(16'000, 0));
  CacheCounters counted;
  counted.Take(0, 0);
  counted.Computed(Tokens(10'000), Tokens(0), Tokens(8000), false);
  counted.Counted();
  EXPECT_FALSE(counted.Take(10'000, 0));
}

TEST(CacheCounters, AnEngineThatStartedAgainBeginsAnew) {
  CacheCounters counters;
  counters.Take(50'000, 10'000);
  counters.Computed(Tokens(10'000), Tokens(0), Tokens(8000), false);
  EXPECT_FALSE(counters.Take(10'000, 0));
  EXPECT_FALSE(counters.Take(20'000, 0)) << "its prompts are not known";
  EXPECT_FALSE(counters.Take(-1, -1));
}

TEST(CacheCounters, AReportTeachesTheReliabilityOfItsReplica) {
  TestRooms test;
  EngineReport report;
  report.cache_queries = report.cache_hits = 0;
  test.rooms.fleet.Report(report);
  test.Replica().prompts.counters().Computed(Tokens(20'000), Tokens(0), Tokens(16'000), false);
  report.cache_queries = 20'000;
  test.rooms.fleet.Report(report);
  EXPECT_LT(test.Replica().prompts.reliability().share(), 0.5);
}

}  // namespace
}  // namespace penstock::testing
