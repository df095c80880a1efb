// The even pace of a stream: one token per promised TPOT from its first token on, and none late.
//
// A client that gets its tokens at this pace does not see that its stream is parked. The stream is back before the
// client has all tokens that wait in the router. Pure; O(1).
#ifndef PENSTOCK_ROUTER_SESSION_RULES_PACE_H_
#define PENSTOCK_ROUTER_SESSION_RULES_PACE_H_

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace penstock {

struct Pace {
  // A token is on its way so long before it is due: a tick of the deadlines, and the way to the client.
  static constexpr Duration kMargin = Duration::Milliseconds(250);

  Instant arrival;
  Duration ttft;
  Duration tpot;

  // The time for the token with this index, where the first one came at `first`.
  Instant ReleaseOf(int64_t token, Instant first) const {
    const Duration after_first = tpot * token;
    return std::min(first + after_first, arrival + ttft + after_first - kMargin);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_RULES_PACE_H_
