#include "router/openai/request/limit_rules.h"

#include <algorithm>

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

}  // namespace penstock
