// The split of a GPU's elastic memory over the limits of its engines. Pure functions of their arguments.
#ifndef PENSTOCK_ROUTER_CORE_SHARES_SHARE_PLAN_H_
#define PENSTOCK_ROUTER_CORE_SHARES_SHARE_PLAN_H_

#include <optional>
#include <vector>

#include "base/units.h"

namespace penstock {

// One engine. Bytes.
struct ShareClaim {
  double limit = 0;    // Now.
  double floor = 0;    // It keeps at least this: what it holds, and what its leases are forecast to hold.
  double want = 0;     // Its leases and its waiting requests would fill so much.
  bool fixed = false;  // Nobody may move its limit.
};

// True: some engine would fill most of its limit, and its pressure (want over limit) is far above another's. Or the
// limits are more than the memory.
bool IsUneven(const std::vector<ShareClaim>& claims, double memory);

// The limits that serve the claims best, in their order: no lower than a floor, and together at most `memory` wherever
// the floors allow it. Each engine gets what it wants where there is enough, and an equal part of the rest. Where there
// is too little, all get the same part of what they want above their floors.
std::vector<double> SplitMemory(const std::vector<ShareClaim>& claims, double memory);

// True: the new limits differ from the old ones enough to be worth the orders.
bool IsWorthMoving(const std::vector<ShareClaim>& claims, const std::vector<double>& limits, double memory);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_SHARES_SHARE_PLAN_H_
