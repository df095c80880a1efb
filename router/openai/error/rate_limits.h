// The limits of a tenant as OpenAI's headers tell them. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_ERROR_RATE_LIMITS_H_
#define PENSTOCK_ROUTER_OPENAI_ERROR_RATE_LIMITS_H_

#include "absl/strings/string_view.h"
#include "backends/dialect/headers.h"
#include "router/core/contract/view.h"

namespace penstock {

// x-ratelimit-limit-*, -remaining-* and -reset-* of requests and tokens; the part without a limit has none. The tokens
// are those of a minute: `reset` is the time until all of them are there again. The requests are those at a time:
// `reset` is 0s while one more may come, else 1s.
void AddRateLimits(const AllowanceView& allowance, HeaderList& headers);

// The name is one of theirs. An engine's own limits are those of the router, and no client gets them.
bool IsRateLimit(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ERROR_RATE_LIMITS_H_
