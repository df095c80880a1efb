// The part of a core's view that metrics show: without what has left the fleet, and with one series per name.
//
// The lists of a fleet only grow. A replica that left is shown while requests run there. It may have the name of one
// that came in its place; their requests are then shown together. A pool that left is shown while it holds memory,
// unless another one has its name. A model that no replica serves is shown while requests wait for it. Pure. Private to
// router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_SHOWN_VIEW_H_
#define PENSTOCK_ROUTER_TELEMETRY_SHOWN_VIEW_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// The parts of a fleet that have left it.
struct GoneParts {
  std::vector<bool> replicas;  // By position, as in the view.
  std::vector<bool> pools;
  absl::flat_hash_set<std::string> models;
};
GoneParts GonePartsOf(const Fleet& fleet);

// A view of the same fleet, or of one a little older or younger.
CoreView ShownOf(const CoreView& view, const GoneParts& gone);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_SHOWN_VIEW_H_
