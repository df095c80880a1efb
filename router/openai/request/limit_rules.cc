#include "router/openai/request/limit_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "router/openai/request/request_scan.h"

namespace penstock {
namespace {

// Zero: no limit.
int64_t MostOf(const GivenLimits& given, Endpoint endpoint, OutputLimits engine) {
  int64_t most = 0;
  for (const GivenLimit& limit : given) {
    if (FindLimit(engine, limit.field, endpoint) == nullptr) continue;
    if (!limit.value) return 0;
    most = std::max({most, *limit.value, int64_t{1}});
  }
  return most;
}

}  // namespace

Tokens MostOutput(const GivenLimits& given, Endpoint endpoint, absl::Span<const OutputLimits> engines) {
  int64_t most = 0;
  for (const OutputLimits& engine : engines) {
    const int64_t of_this = MostOf(given, endpoint, engine);
    if (of_this == 0) return Tokens(0);
    most = std::max(most, of_this);
  }
  return Tokens(most);
}

std::optional<ApiError> CheckUnlimited(const GivenLimits& given, Endpoint endpoint,
                                       absl::Span<const OutputLimits> engines) {
  for (const GivenLimit& limit : given) {
    if (limit.value) continue;
    bool read = false, taken = false;
    for (const OutputLimits& engine : engines) {
      const OutputLimit* row = FindLimit(engine, limit.field, endpoint);
      read |= row != nullptr;
      taken |= row != nullptr && row->unlimited;
    }
    if (!read || taken) continue;
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("`", limit.field, "` must be between 1 and ", kMaxOutputLimit,
                                  ": no engine of the model takes a negative one for no limit."),
                     limit.field);
  }
  return std::nullopt;
}

}  // namespace penstock
