// When calls to an engine may be merged again.
#include "router/live/merge/merge_trust.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const Instant kStart = Instant::FromSeconds(100);

TEST(MergeTrust, ABadAnswerPausesTheMergingAndEachFurtherOneTwiceAsLong) {
  MergeTrust trust;
  EXPECT_TRUE(trust.Holds(kStart));
  Instant now = kStart;
  Duration expected = MergeTrust::kFirstPause;
  for (int i = 0; i < 10; ++i) {
    const std::optional<Duration> pause = trust.OnBad(now);
    ASSERT_TRUE(pause.has_value());
    EXPECT_EQ(*pause, expected);
    EXPECT_FALSE(trust.Holds(now + *pause - Duration::Milliseconds(1)));
    now = now + *pause;
    EXPECT_TRUE(trust.Holds(now));
    expected = std::min(expected * 2, MergeTrust::kLongestPause);
  }
  EXPECT_EQ(expected, MergeTrust::kLongestPause);
}

TEST(MergeTrust, WhatEndsWithinAPauseChangesNothing) {
  MergeTrust trust;
  const Duration pause = *trust.OnBad(kStart);
  EXPECT_FALSE(trust.OnBad(kStart + Duration::Seconds(1)).has_value());
  trust.OnGood(kStart + Duration::Seconds(1));
  EXPECT_EQ(trust.OnBad(kStart + pause), pause * 2);
}

TEST(MergeTrust, AGoodAnswerMakesTheNextPauseShortAgain) {
  MergeTrust trust;
  const Duration pause = *trust.OnBad(kStart);
  trust.OnGood(kStart + pause);
  EXPECT_EQ(trust.OnBad(kStart + pause), MergeTrust::kFirstPause);
}

}  // namespace
}  // namespace penstock
