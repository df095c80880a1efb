// The room that requests of evictable classes leave on a replica for requests that come.
//
// A newcomer waits for the step in flight and for the prefill that the engine has, and it needs a batch row. So while a
// replica runs other requests, or any server of its models got one within kDemand, an evictable request joins it only
// where
//   - the rows and the context of all such requests lengthen a step by at most kLonger of an empty step, or it is alone
//   - the prefill on its way takes at most kPrefill of an empty step, or the request's prompt is alone
//   - no burst of such requests is under way, on any server of its models
//   - kReserve of the batch rows stay free
// Without such demand they fill prefill budgets as others do, eight prompts at a time. A prompt that an engine should
// have computed, and did not, waits for a row there: no further one follows it. An engine that reported waiting
// requests has no more rows than it ran then. Requests whose turn is guaranteed do not give way. Pure; O(1).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_GIVING_WAY_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_GIVING_WAY_H_

#include "router/core/placement/guards.h"

namespace penstock {

// Most sequences of the replica. What the engine was seen to run counts only beside evictable requests: these leave
// where it was too little.
int RowsOf(const ReplicaState& replica, Instant now);

// True: the request gives way to those that come.
bool GivesWay(const GuardQuestion& question);

// True: newcomers have room beside the request, which gives way.
bool LeavesRoom(const GuardQuestion& question);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_GIVING_WAY_H_
