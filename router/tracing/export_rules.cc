#include "router/tracing/export_rules.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "router/openai/error/http_status.h"

namespace penstock {
namespace {

bool MayBeSentAgain(int status) {
  return status == 0 || status == http_status::kTooManyRequests || status == http_status::kBadGateway ||
         status == http_status::kServiceUnavailable || status == http_status::kGatewayTimeout;
}

}  // namespace

std::optional<Duration> ParseRetryAfter(absl::string_view value) {
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(value), &seconds) || seconds < 0) return std::nullopt;
  return Duration::Seconds(static_cast<double>(seconds));
}

ExportRules::Step ExportRules::After(int status, absl::string_view retry_after, double draw) {
  if (http_status::IsSuccess(status)) return {Step::Kind::kDone, Duration()};
  ++tries_;
  if (!MayBeSentAgain(status) || tries_ >= kMostTries) return {Step::Kind::kGiveUp, Duration()};
  if (const std::optional<Duration> asked = ParseRetryAfter(retry_after)) {
    return {Step::Kind::kAgain, std::min(*asked, kLongestPause)};
  }
  const Duration doubled = std::min(kFirstPause * (int64_t{1} << (tries_ - 1)), kLongestPause);
  // From half of the pause to all of it.
  return {Step::Kind::kAgain, Duration::Seconds(doubled.seconds() * (0.5 + 0.5 * draw))};
}

}  // namespace penstock
