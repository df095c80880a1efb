#include "router/core/pairs/prefill_line.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr Instant kStart = Instant::FromSeconds(100);
Instant After(double seconds) { return kStart + Duration::Seconds(seconds); }

TEST(PrefillLine, PromptsQueueBehindEachOther) {
  PrefillLine line;
  EXPECT_EQ(line.Ahead(kStart), 0);
  line.Sent(0.5, kStart);
  line.Sent(0.25, After(0.1));
  EXPECT_NEAR(line.Ahead(After(0.1)), 0.65, 1e-9);
  EXPECT_EQ(line.Ahead(After(2)), 0);
}

TEST(PrefillLine, TheEndOfAPromptTellsWhereTheLineStands) {
  PrefillLine line;
  line.Sent(0.5, kStart);
  line.Sent(0.5, kStart);
  line.Computed(kStart, 0.5, 0.5, After(0.8));
  EXPECT_NEAR(line.Ahead(After(0.8)), 0.5, 1e-9);
  line.Left(0, After(0.9));
  EXPECT_EQ(line.Ahead(After(0.9)), 0);
}

TEST(PrefillLine, ThePaceIsLearnedFromPromptsThatFollowEachOther) {
  PrefillLine line;
  EXPECT_EQ(line.pace(), 1);
  // All were sent at once; each takes 0.6 s instead of 0.5 s.
  for (int i = 1; i <= 60; ++i) line.Computed(kStart, 0.5, 0, After(0.6 * i));
  EXPECT_NEAR(line.pace(), 1.2, 0.03);
}

TEST(PrefillLine, PromptsOfOneStepCountTogether) {
  PrefillLine line;
  for (int i = 1; i <= 30; ++i) {
    for (int k = 0; k < 4; ++k) line.Computed(kStart, 0.025, 0, After(0.1 * i));
  }
  EXPECT_NEAR(line.pace(), 1, 0.05);
}

TEST(PrefillLine, TheTransferIsTheConfiguredOneUntilItIsLearned) {
  PrefillLine line;
  EXPECT_EQ(line.transfer(1e-6), 1e-6);
  for (int i = 0; i < 60; ++i) line.HandedOver(Tokens(4000), 4000 * 5e-6);
  EXPECT_NEAR(line.transfer(1e-6), 5e-6, 1e-6);
  for (int i = 0; i < 60; ++i) line.HandedOver(Tokens(4000), -1);
  EXPECT_GE(line.transfer(0), 0);
}

}  // namespace
}  // namespace penstock
