// Tells the counts of an engine that can be true from those that cannot.
//
// An engine with a fault may report any number. Counters, allowances and curves take only possible counts: a tenant
// must not pay for tokens that no engine could make. Pure values.
#ifndef PENSTOCK_ROUTER_OPENAI_ANSWER_USAGE_CHECK_H_
#define PENSTOCK_ROUTER_OPENAI_ANSWER_USAGE_CHECK_H_

#include <cstdint>

#include "backends/dialect/usage.h"
#include "base/units.h"
#include "router/openai/request/request_scan.h"

namespace penstock {

// The most tokens of one prompt or output where neither the request nor the engine has a smaller bound.
inline constexpr int64_t kMostTokensOfOne = int64_t{1} << 24;

// The most tokens of the whole request that are possible.
struct UsageBounds {
  Tokens prompt{kMostTokensOfOne};
  Tokens output{kMostTokensOfOne};
  bool operator==(const UsageBounds&) const = default;
};

// `context`: of the engine; 0: unknown.
UsageBounds BoundsOf(const RequestFacts& facts, Tokens context);

struct UsageCheck {
  UsageBounds bounds;
  bool failed = false;  // A usage had an impossible count.
};

// Replaces impossible counts by those of an unreported count: 0, and -1 for the cached part. False: the output was one.
bool KeepPossible(UsageCheck& check, Usage& usage);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ANSWER_USAGE_CHECK_H_
