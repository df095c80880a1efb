#include "router/core/placement/score.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

size_t BestReplica(const std::vector<Choice>& choices) { return BestOf(AllScores(), choices).replica; }

TEST(Score, TheEmptierPoolWinsWhereNoPrefixIsCached) {
  EXPECT_EQ(BestReplica({{1, 0.5, 0.1, Tokens(100), 0}, {2, 0.3, 0.1, Tokens(100), 0}}), 2u);
}

TEST(Score, WithinTheBandTheReplicaThatHasToComputeLeastWins) {
  EXPECT_EQ(BestReplica({{1, 0.39, 0.1, Tokens(10), 0}, {2, 0.3, 0.1, Tokens(100), 0}}), 1u);
}

TEST(Score, ACachedPrefixDoesNotWinAgainstAMuchEmptierPool) {
  EXPECT_EQ(BestReplica({{1, 0.45, 0.1, Tokens(10), 0}, {2, 0.3, 0.1, Tokens(100), 0}}), 2u);
}

TEST(Score, BetweenEqualPoolsTheEarlierFirstTokenWins) {
  EXPECT_EQ(BestReplica({{1, 0.3, 0.2, Tokens(100), 0}, {2, 0.3, 0.1, Tokens(100), 0}}), 2u);
}

TEST(Score, BetweenEqualChoicesTheOneThatWasTriedFirstWins) {
  EXPECT_EQ(BestReplica({{5, 0.3, 0.1, Tokens(100), 0}, {2, 0.3, 0.1, Tokens(100), 0}}), 5u);
}

TEST(Score, AShorterListComparesLess) {
  const std::vector<Choice> choices = {{1, 0.39, 0.1, Tokens(10), 0}, {2, 0.3, 0.1, Tokens(100), 0}};
  const std::vector<Score> all = AllScores();
  EXPECT_EQ(BestOf({all[2]}, choices).replica, 2u);
  EXPECT_EQ(all[1].name, "prefill");
}

}  // namespace
}  // namespace penstock
