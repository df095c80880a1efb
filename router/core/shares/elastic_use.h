// The books follow what engines report about elastic memory (kvcached).
//
// The capacity of an engine's own pool is its limit. The pool of the GPU has what its engines did not preallocate: an
// engine keeps that, and takes more once it uses it. Both remember the reported use. Stateless; O(replicas of the GPU).
#ifndef PENSTOCK_ROUTER_CORE_SHARES_ELASTIC_USE_H_
#define PENSTOCK_ROUTER_CORE_SHARES_ELASTIC_USE_H_

#include "router/core/books/fleet_state.h"

namespace penstock {

// Void where the engine of the replica has no limit by the fleet.
void TakeElasticReport(const ElasticReport& report, FleetState& fleet);

// The fleet has a new description: the newest reports hold on.
void KeepElasticReports(FleetState& fleet);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_SHARES_ELASTIC_USE_H_
