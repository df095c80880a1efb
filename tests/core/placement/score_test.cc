#include "router/core/placement/score.h"

#include <gtest/gtest.h>

#include "router/core/placement/money.h"

namespace penstock {
namespace {

// A choice whose pool holds ten seconds of prefill, so that a tenth of it is worth one second.
Choice With(size_t replica, double peak_share, double saved = 0, double expected_ttft = 0.1) {
  return {replica, peak_share, expected_ttft, saved, 10 / kMemoryPrice, 0};
}

size_t BestReplica(const std::vector<Choice>& choices) {
  return BestOf(AllScores(), choices, PriceAmong(choices)).replica;
}

TEST(Score, TheEmptierPoolWinsWhereNoPrefixIsCached) { EXPECT_EQ(BestReplica({With(1, 0.5), With(2, 0.3)}), 2u); }

TEST(Score, ACachedPrefixWinsWhereItSavesMoreThanTheMemoryCosts) {
  EXPECT_EQ(BestReplica({With(1, 0.5, 2.1), With(2, 0.3)}), 1u);
  EXPECT_EQ(BestReplica({With(1, 0.5, 1.9), With(2, 0.3)}), 2u);
}

TEST(Score, ACopyThatMakesStepsOfItsOwnIsTakenWhereItsCachedPrefixSavesMore) {
  Choice copy = With(1, 0.3, 1.9);
  EXPECT_EQ(BestReplica({copy, With(2, 0.5)}), 1u);
  copy.own_steps = 3;
  EXPECT_EQ(BestReplica({copy, With(2, 0.5)}), 1u);
  copy.own_steps = 4;
  EXPECT_EQ(BestReplica({copy, With(2, 0.5)}), 2u);
}

TEST(Score, AllPoolsHaveThePriceOfTheDearest) {
  Choice cheap = With(1, 0.5, 1.9);
  cheap.pool_seconds /= 100;
  EXPECT_EQ(BestReplica({cheap, With(2, 0.3)}), 2u);
}

TEST(Score, WithoutPoolsTheReplicaThatSavesMostWins) {
  EXPECT_EQ(BestReplica({{1, 0.5, 0.1, 0.2, 0, 0}, {2, 0.3, 0.1, 0.1, 0, 0}}), 1u);
  EXPECT_EQ(BestReplica({{1, 0.5, 0.1, 0, 0, 0}, {2, 0.3, 0.1, 0, 0, 0}}), 2u);
}

TEST(Score, BetweenEqualPoolsTheEarlierFirstTokenWins) {
  EXPECT_EQ(BestReplica({With(1, 0.3, 0, 0.2), With(2, 0.3, 0, 0.1)}), 2u);
}

TEST(Score, BetweenEqualChoicesTheFirstReplicaWinsInWhateverOrderTheyWereTried) {
  EXPECT_EQ(BestReplica({With(5, 0.3), With(2, 0.3)}), 2u);
  EXPECT_EQ(BestReplica({With(2, 0.3), With(5, 0.3)}), 2u);
}

TEST(Score, MoneyCountsFirstAmongReplicasThatAreWellWithinTheGoals) {
  Choice cheap = With(1, 0.5);
  cheap.money = 1;
  Choice dear = With(2, 0.3, 9);
  dear.money = 2;
  EXPECT_EQ(BestReplica({dear, cheap}), 1u);
  cheap.money = kNoMoney;
  EXPECT_EQ(BestReplica({dear, cheap}), 2u);
  dear.money = kNoMoney;
  cheap.saved = 12;
  EXPECT_EQ(BestReplica({dear, cheap}), 1u) << "the other scores decide";
}

TEST(Score, AShorterListComparesLess) {
  const std::vector<Choice> choices = {With(1, 0.4, 5), With(2, 0.3)};
  const std::vector<Score> all = AllScores();
  EXPECT_EQ(BestOf({all[2]}, choices, PriceAmong(choices)).replica, 2u);
  EXPECT_EQ(all[1].name, "cost");
}

}  // namespace
}  // namespace penstock
