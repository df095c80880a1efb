#include "router/http/exchange/date.h"

#include <ctime>
#include <string>

#include "absl/time/time.h"

namespace penstock {

absl::string_view DateNow() {
  static thread_local std::time_t second = 0;
  static thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != second || text.empty()) {
    second = now;
    text = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromTimeT(now), absl::UTCTimeZone());
  }
  return text;
}

}  // namespace penstock
