// A call that gathers requests waits for further ones no longer than this.
//
// Requests whose answers ended together come back together, so a short gap tells that there are no more of them. Their
// wait saves an engine a call, but delays them where the engine would have taken them into its next step. A value.
#ifndef PENSTOCK_ROUTER_LIVE_MERGE_GATHER_TIME_H_
#define PENSTOCK_ROUTER_LIVE_MERGE_GATHER_TIME_H_

#include <algorithm>

#include "base/units.h"

namespace penstock {

class GatherTime {
 public:
  static constexpr Duration kMostWait = Duration::Milliseconds(4);
  static constexpr Duration kMostGap = Duration::Microseconds(500);

  explicit GatherTime(Instant opened) : until_(opened + kMostWait) {}

  // From the newest request on.
  Duration Left(Instant now) const { return std::max(Duration(), std::min(kMostGap, until_ - now)); }

 private:
  Instant until_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_MERGE_GATHER_TIME_H_
