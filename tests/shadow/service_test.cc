#include "router/shadow/service.h"

#include <gtest/gtest.h>

#include "router/shadow/service_sums.h"

namespace penstock {
namespace {

Instant At(double seconds) { return Instant::FromSeconds(seconds); }
constexpr Duration kTtft = Duration::Seconds(2);
constexpr Duration kTpot = Duration::Milliseconds(100);

TEST(Service, AStreamAtTheGoalsIsOnTime) {
  const Service service = ServiceOf({At(1), At(3), At(3.9), 10, true}, kTtft, kTpot);
  EXPECT_TRUE(service.on_time);
  EXPECT_EQ(service.active, 10);
  EXPECT_DOUBLE_EQ(*service.ttft, 2);
}

TEST(Service, ALateFirstTokenMakesTheStreamLateUntilItCatchesUp) {
  // The first token is half a second late; each of the next makes 50 ms good.
  const Service service = ServiceOf({At(0), At(2.5), At(2.5 + 0.05 * 20), 21, true}, kTtft, kTpot);
  EXPECT_FALSE(service.on_time);
  EXPECT_EQ(service.active, 11);
  EXPECT_EQ(service.late, 10);
}

TEST(Service, ASlowStreamIsOnTimeUntilItFallsBehind) {
  // A second ahead, and 100 ms behind with each token.
  const Service service = ServiceOf({At(0), At(1), At(1 + 0.2 * 20), 21, true}, kTtft, kTpot);
  EXPECT_EQ(service.active, 11);
}

TEST(Service, AnAnswerInOnePieceComesAtItsEnd) {
  EXPECT_FALSE(ServiceOf({At(0), std::nullopt, At(2.5), 10, true}, kTtft, kTpot).on_time);
  EXPECT_EQ(ServiceOf({At(0), std::nullopt, At(2.5), 10, true}, kTtft, kTpot).active, 5);
  EXPECT_TRUE(ServiceOf({At(0), std::nullopt, At(1.5), 0, true}, kTtft, kTpot).on_time) << "an embedding";
}

TEST(Service, TokensOfARequestThatDidNotEndWellAreAbandoned) {
  const Service service = ServiceOf({At(0), At(1), At(1.5), 7, false}, kTtft, kTpot);
  EXPECT_FALSE(service.on_time);
  EXPECT_EQ(service.active, 0);
  EXPECT_EQ(service.abandoned, 7);
}

TEST(Service, ARefusedRequestHasNoFirstToken) {
  EXPECT_FALSE(ServiceOf({At(0), std::nullopt, At(0.1), 0, false}, kTtft, kTpot).ttft);
}

TEST(TimeSpread, ItsQuantilesAreWithinTenPercent) {
  TimeSpread spread;
  EXPECT_FALSE(spread.Quantile(0.5));
  for (int i = 1; i <= 100; ++i) spread.Add(0.01 * i);
  EXPECT_NEAR(*spread.Quantile(0.5), 0.5, 0.05);
  EXPECT_NEAR(*spread.Quantile(0.99), 0.99, 0.1);
  spread.Add(1e9);
  EXPECT_GT(*spread.Quantile(1), 500);
}

}  // namespace
}  // namespace penstock
