#include "router/openai/error/rate_limits.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr int64_t kMinuteMs = 60'000;

// As OpenAI writes it: 6m0s, 1.2s, 350ms.
std::string ResetText(int64_t milliseconds) {
  if (milliseconds <= 0) return "0s";
  if (milliseconds < 1000) return absl::StrCat(milliseconds, "ms");
  const int64_t minutes = milliseconds / kMinuteMs;
  const int64_t rest = milliseconds % kMinuteMs;
  std::string seconds = absl::StrCat(rest / 1000);
  if (const int64_t tenths = rest % 1000 / 100; tenths > 0) absl::StrAppend(&seconds, ".", tenths);
  return minutes > 0 ? absl::StrCat(minutes, "m", seconds, "s") : absl::StrCat(seconds, "s");
}

}  // namespace

void AddRateLimits(const AllowanceView& allowance, HeaderList& headers) {
  if (allowance.max_requests > 0) {
    const int64_t left = std::max<int64_t>(0, allowance.max_requests - allowance.requests);
    headers.Add("x-ratelimit-limit-requests", absl::StrCat(allowance.max_requests));
    headers.Add("x-ratelimit-remaining-requests", absl::StrCat(left));
    headers.Add("x-ratelimit-reset-requests", left > 0 ? "0s" : "1s");
  }
  if (const int64_t limit = allowance.tokens_per_minute.value(); limit > 0) {
    const int64_t missing = std::max<int64_t>(0, limit - allowance.tokens.value());
    const auto reset =
        static_cast<int64_t>(static_cast<double>(missing) / static_cast<double>(limit) * kMinuteMs + 0.5);
    headers.Add("x-ratelimit-limit-tokens", absl::StrCat(limit));
    headers.Add("x-ratelimit-remaining-tokens", absl::StrCat(std::max<int64_t>(0, allowance.tokens.value())));
    headers.Add("x-ratelimit-reset-tokens", ResetText(reset));
  }
}

bool IsRateLimit(absl::string_view name) { return absl::StartsWithIgnoreCase(name, "x-ratelimit-"); }

}  // namespace penstock
