// A simulated copy of a fleet: its engines as the decision core knows them.
//
// The description has what configuration and discovery found. The learned factors of step times and host times make the
// copy as fast as the engines were seen to be. Pure.
#ifndef PENSTOCK_APP_SHADOW_FLEET_TWIN_H_
#define PENSTOCK_APP_SHADOW_FLEET_TWIN_H_

#include "absl/status/statusor.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"

namespace penstock {

// `learned`: the view of a core that learns step times; other views teach nothing. FailedPrecondition names a replica
// that cannot be copied: its memory is unknown, does not grow by tokens, or has a limit that others move.
absl::StatusOr<bench::SimulatedFleetSpec> TwinOf(const Fleet& fleet, const CoreView& learned);

// The largest ratio of a learned factor to that of an earlier view, either way; 1: nothing changed.
double DriftOf(const CoreView& before, const CoreView& now);

}  // namespace penstock

#endif  // PENSTOCK_APP_SHADOW_FLEET_TWIN_H_
