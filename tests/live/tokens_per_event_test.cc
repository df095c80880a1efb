// The tokens of an event, learned from whole answers.
#include "router/live/tokens_per_event.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(TokensPerEvent, OneBeforeAnyAnswer) { EXPECT_EQ(TokensPerEvent().ratio(), 1); }

TEST(TokensPerEvent, AnEngineWithOneTokenPerEventStaysAtOne) {
  TokensPerEvent learned;
  for (int i = 0; i < 100; ++i) learned.Observe(4, 3);
  EXPECT_EQ(learned.ratio(), 1) << "the token that ends an answer has no text";
}

TEST(TokensPerEvent, AnEngineThatDecodesThreeAtATimeIsLearnedWithinAFewAnswers) {
  TokensPerEvent learned;
  for (int i = 0; i < 5; ++i) learned.Observe(301, 100);
  EXPECT_NEAR(learned.ratio(), 3, 0.2);
}

TEST(TokensPerEvent, ItFollowsAnEngineThatChanges) {
  TokensPerEvent learned;
  for (int i = 0; i < 100; ++i) learned.Observe(301, 100);
  for (int i = 0; i < 100; ++i) learned.Observe(101, 100);
  EXPECT_NEAR(learned.ratio(), 1, 0.05);
}

TEST(TokensPerEvent, OneAnswerWithHiddenTextIsBounded) {
  TokensPerEvent learned;
  learned.Observe(int64_t{1} << 40, 50);
  EXPECT_LT(learned.ratio(), TokensPerEvent::kMost);
  learned.Observe(100, 0);
  EXPECT_GE(learned.ratio(), 1);
}

}  // namespace
}  // namespace penstock
