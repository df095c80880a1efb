#include "router/page/token_history.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

Instant At(double seconds) { return Instant() + Duration::Seconds(seconds); }

TEST(TokenHistory, HasNoRateBeforeTheSecondSample) {
  TokenHistory history;
  history.Sample({100, 10, 1}, At(5));
  EXPECT_TRUE(history.rates().empty());
  EXPECT_EQ(history.totals().active, 100);
}

TEST(TokenHistory, DividesByTheTimeBetweenSamples) {
  TokenHistory history;
  history.Sample({100, 10, 0}, At(5));
  history.Sample({300, 20, 4}, At(7));
  ASSERT_EQ(history.rates().size(), 1u);
  EXPECT_DOUBLE_EQ(history.rates().back().active, 100);
  EXPECT_DOUBLE_EQ(history.rates().back().late, 5);
  EXPECT_DOUBLE_EQ(history.rates().back().wasted, 2);
}

TEST(TokenHistory, IgnoresAClockThatStands) {
  TokenHistory history;
  history.Sample({0, 0, 0}, At(5));
  history.Sample({50, 0, 0}, At(5));
  EXPECT_TRUE(history.rates().empty());
}

TEST(TokenHistory, ForgetsWhatIsOlderThanTwoMinutes) {
  TokenHistory history;
  for (int second = 0; second < 500; ++second) history.Sample({second, 0, 0}, At(second));
  EXPECT_EQ(history.rates().size(), TokenHistory::kKept);
}

}  // namespace
}  // namespace penstock
