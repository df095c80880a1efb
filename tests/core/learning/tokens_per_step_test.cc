#include "router/core/learning/tokens_per_step.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(TokensPerStep, IsOneUntilSomethingWasSeen) {
  TokensPerStep learned;
  EXPECT_EQ(learned.value(), 1);
  learned.Observe(25, 10);
  EXPECT_EQ(learned.value(), 1) << "too few steps";
}

TEST(TokensPerStep, IsTheRatioOfLate) {
  TokensPerStep learned;
  for (int i = 0; i < 100; ++i) learned.Observe(25, 10);
  EXPECT_NEAR(learned.value(), 2.5, 0.01);
  for (int i = 0; i < 2000; ++i) learned.Observe(40, 10);
  EXPECT_NEAR(learned.value(), 4, 0.01);
}

TEST(TokensPerStep, ASmallExcessIsNoSpeculation) {
  TokensPerStep learned;
  for (int i = 0; i < 100; ++i) learned.Observe(11, 10);
  EXPECT_EQ(learned.value(), 1);
}

TEST(TokensPerStep, PreemptedStreamsDoNotBringItBelowOne) {
  TokensPerStep learned;
  for (int i = 0; i < 100; ++i) learned.Observe(-5, 10);
  EXPECT_EQ(learned.value(), 1);
  learned.Observe(100, 0);
  EXPECT_EQ(learned.value(), 1);
}

}  // namespace
}  // namespace penstock
