#include "router/core/contract/refusal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace penstock {
namespace {

TEST(Refusals, TheTableIsInTheOrderOfItsEnum) {
  for (int i = 0; i < kRefusalCount; ++i) EXPECT_EQ(kRefusals[static_cast<size_t>(i)].refusal, static_cast<Refusal>(i));
}

TEST(Refusals, EachHasALabelOfItsOwnThatMetricsCanCarry) {
  std::set<std::string> labels;
  for (const RefusalTraits& traits : kRefusals) {
    EXPECT_TRUE(std::all_of(traits.label.begin(), traits.label.end(), [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z');
    })) << traits.label;
    EXPECT_TRUE(labels.insert(std::string(traits.label)).second) << traits.label;
  }
}

// A client of the OpenAI libraries retries 429 and 5xx by itself.
TEST(Refusals, ARefusalIsRetryableExactlyWhereItsStatusSaysSo) {
  for (const RefusalTraits& traits : kRefusals) {
    EXPECT_EQ(traits.retryable, traits.status == 429 || traits.status >= 500) << traits.label;
  }
}

TEST(Refusals, TheTypeFollowsTheStatus) {
  for (const RefusalTraits& traits : kRefusals) {
    const absl::string_view expected = traits.status >= 500   ? "server_error"
                                       : traits.status == 429 ? "rate_limit_error"
                                                              : "invalid_request_error";
    EXPECT_EQ(traits.type, expected) << traits.label;
    EXPECT_FALSE(traits.code.empty()) << traits.label;
  }
}

}  // namespace
}  // namespace penstock
