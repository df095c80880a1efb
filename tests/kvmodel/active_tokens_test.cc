#include "kvmodel/active_tokens.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace penstock {
namespace {

constexpr Duration kTtft = Duration::Seconds(2);
constexpr Duration kTpot = Duration::Milliseconds(100);

ActiveTokenCounter At(double arrival_s) { return ActiveTokenCounter(Instant::FromSeconds(arrival_s), kTtft, kTpot); }

TEST(ActiveTokens, ATokenAtItsDueTimeIsActive) {
  ActiveTokenCounter counter = At(10);
  counter.OnTokens(1, Instant::FromSeconds(12));
  counter.OnTokens(1, Instant::FromSeconds(12) + kTpot);
  counter.OnEnd(true);
  EXPECT_EQ(counter.active(), 2);
  EXPECT_EQ(counter.late(), 0);
  EXPECT_TRUE(counter.on_time());
}

TEST(ActiveTokens, ATokenOneNanosecondAfterItsDueTimeIsLate) {
  ActiveTokenCounter counter = At(0);
  counter.OnTokens(1, Instant::FromSeconds(2) + Duration::Nanoseconds(1));
  counter.OnEnd(true);
  EXPECT_EQ(counter.active(), 0);
  EXPECT_EQ(counter.late(), 1);
  EXPECT_FALSE(counter.on_time());
}

TEST(ActiveTokens, AStreamThatWasLateCatchesUpWhenItIsFasterThanItsGoal) {
  ActiveTokenCounter counter = At(0);
  // 0.25 s over: tokens 0, 1 and 2 were due before, token 3 is due at 2.3 s.
  counter.OnTokens(5, Instant::FromSeconds(2.25));
  counter.OnEnd(true);
  EXPECT_EQ(counter.late(), 3);
  EXPECT_EQ(counter.active(), 2);
  EXPECT_FALSE(counter.on_time());
}

TEST(ActiveTokens, EveryTokenOfARequestThatEndsBadlyIsAbandoned) {
  ActiveTokenCounter counter = At(0);
  counter.OnTokens(3, Instant::FromSeconds(1));
  counter.OnTokens(2, Instant::FromSeconds(9));
  counter.OnEnd(false);
  EXPECT_EQ(counter.abandoned(), 5);
  EXPECT_EQ(counter.active() + counter.late(), 0);
  EXPECT_FALSE(counter.on_time());
}

TEST(ActiveTokens, ARunningRequestHasNoActiveTokensYet) {
  ActiveTokenCounter counter = At(0);
  counter.OnTokens(3, Instant::FromSeconds(1));
  EXPECT_EQ(counter.tokens(), 3);
  EXPECT_EQ(counter.active() + counter.late() + counter.abandoned(), 0);
}

TEST(ActiveTokens, AnAnswerWithoutTokensIsNotOnTime) {
  ActiveTokenCounter counter = At(0);
  counter.OnTokens(0, Instant::FromSeconds(1));
  counter.OnEnd(true);
  EXPECT_FALSE(counter.on_time());
}

TEST(ActiveTokens, WithoutATpotGoalEveryTokenIsDueWithTheFirst) {
  ActiveTokenCounter counter(Instant(), kTtft, Duration());
  counter.OnTokens(4, Instant::FromSeconds(2));
  counter.OnTokens(4, Instant::FromSeconds(2.001));
  counter.OnEnd(true);
  EXPECT_EQ(counter.active(), 4);
  EXPECT_EQ(counter.late(), 4);
}

TEST(ActiveTokens, AgreesWithTheDefinitionTokenByToken) {
  constexpr uint64_t kSeed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int request = 0; request < 200; ++request) {
    const Duration tpot = Duration::Milliseconds(static_cast<int64_t>(random() % 50));
    const Duration ttft = Duration::Milliseconds(static_cast<int64_t>(random() % 500));
    const Instant arrival = Instant::FromNanoseconds(static_cast<int64_t>(random() % 1'000'000'000));
    ActiveTokenCounter counter(arrival, ttft, tpot);
    int64_t index = 0;
    int64_t late = 0;
    Instant now = arrival;
    for (int chunk = 0; chunk < 30; ++chunk) {
      now = now + Duration::Milliseconds(static_cast<int64_t>(random() % 60));
      const int64_t count = static_cast<int64_t>(random() % 4);
      for (int64_t i = 0; i < count; ++i, ++index) late += now > arrival + ttft + tpot * index ? 1 : 0;
      counter.OnTokens(count, now);
    }
    counter.OnEnd(true);
    ASSERT_EQ(counter.late(), late) << "request " << request;
    ASSERT_EQ(counter.active(), index - late) << "request " << request;
  }
}

}  // namespace
}  // namespace penstock
