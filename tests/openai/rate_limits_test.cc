#include "router/openai/error/rate_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace penstock {
namespace {

std::map<std::string, std::string> HeadersOf(const AllowanceView& allowance) {
  HeaderList headers;
  AddRateLimits(allowance, headers);
  std::map<std::string, std::string> found;
  for (const auto [name, value] : headers) found[std::string(name)] = std::string(value);
  return found;
}

TEST(RateLimits, BothLimitsHaveThreeHeaders) {
  const auto headers = HeadersOf({5, 2, Tokens(60'000), Tokens(45'000)});
  EXPECT_EQ(headers.size(), 6u);
  EXPECT_EQ(headers.at("x-ratelimit-limit-requests"), "5");
  EXPECT_EQ(headers.at("x-ratelimit-remaining-requests"), "3");
  EXPECT_EQ(headers.at("x-ratelimit-reset-requests"), "0s");
  EXPECT_EQ(headers.at("x-ratelimit-limit-tokens"), "60000");
  EXPECT_EQ(headers.at("x-ratelimit-remaining-tokens"), "45000");
  EXPECT_EQ(headers.at("x-ratelimit-reset-tokens"), "15s");
}

TEST(RateLimits, ALimitThatIsNotThereHasNone) {
  EXPECT_EQ(HeadersOf({5, 5, Tokens(0), Tokens(0)}).size(), 3u);
  EXPECT_EQ(HeadersOf({5, 5, Tokens(0), Tokens(0)}).at("x-ratelimit-reset-requests"), "1s");
  EXPECT_EQ(HeadersOf({0, 9, Tokens(100), Tokens(100)}).size(), 3u);
  EXPECT_EQ(HeadersOf({0, 9, Tokens(100), Tokens(100)}).at("x-ratelimit-reset-tokens"), "0s");
}

TEST(RateLimits, AnOverdrawnBucketHasNothingLeftAndALongerReset) {
  const auto headers = HeadersOf({0, 0, Tokens(1000), Tokens(-500)});
  EXPECT_EQ(headers.at("x-ratelimit-remaining-tokens"), "0");
  EXPECT_EQ(headers.at("x-ratelimit-reset-tokens"), "1m30s");
}

TEST(RateLimits, ShortTimesAreMilliseconds) {
  EXPECT_EQ(HeadersOf({0, 0, Tokens(60'000), Tokens(59'900)}).at("x-ratelimit-reset-tokens"), "100ms");
  EXPECT_EQ(HeadersOf({0, 0, Tokens(60'000), Tokens(58'700)}).at("x-ratelimit-reset-tokens"), "1.3s");
}

}  // namespace
}  // namespace penstock
