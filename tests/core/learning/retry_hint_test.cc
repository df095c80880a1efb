#include "router/core/learning/retry_hint.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr Tokens kPrompt{1000};

TEST(RetryHint, TheFirstRequestOfTheSizeThatComesAfterTheHintFollowsUpOnce) {
  RetryHint hint;
  const Instant now = Instant::FromSeconds(5);
  hint.Refused(kPrompt, now);
  const Instant due = now + hint.hint();
  EXPECT_FALSE(hint.Follows(kPrompt, due - Duration::Milliseconds(1)));
  EXPECT_FALSE(hint.Follows(Tokens(999), due));
  EXPECT_TRUE(hint.Follows(Tokens(1001), due));
  EXPECT_FALSE(hint.Follows(kPrompt, due));
}

TEST(RetryHint, ARefusalThatNoRequestFollowsForLongIsForgotten) {
  RetryHint hint;
  const Instant now = Instant::FromSeconds(5);
  hint.Refused(kPrompt, now);
  EXPECT_FALSE(hint.Follows(kPrompt, now + hint.hint() + Duration::Seconds(11)));
}

// The world is closed for `closed` seconds after each refusal.
double LearnedIn(double closed) {
  RetryHint hint;
  for (int i = 0; i < 1000; ++i) hint.Ended(hint.hint().seconds() > closed);
  return hint.hint().seconds();
}

TEST(RetryHint, SettlesWhereNineOfTenWouldBeServed) {
  EXPECT_NEAR(LearnedIn(4), 4, 4 * 0.35);
  EXPECT_NEAR(LearnedIn(30), 30, 30 * 0.35);
  int served = 0;
  RetryHint hint;
  for (int i = 0; i < 10'000; ++i) {
    const bool ok = hint.hint().seconds() > 8 + i % 5;
    served += ok;
    hint.Ended(ok);
  }
  EXPECT_NEAR(served, 9000, 100);
}

TEST(RetryHint, StaysWithinASecondAndAMinute) {
  EXPECT_NEAR(LearnedIn(1000), 60, 1e-6);
  EXPECT_NEAR(LearnedIn(0), 1, 1e-6);
}

TEST(RetryHint, FollowsABoundedNumberOfRefusals) {
  RetryHint hint;
  const Instant now = Instant::FromSeconds(5);
  for (int i = 0; i < 1000; ++i) hint.Refused(kPrompt, now);
  int followed = 0;
  while (hint.Follows(kPrompt, now + hint.hint())) ++followed;
  EXPECT_EQ(followed, 64);
}

}  // namespace
}  // namespace penstock
