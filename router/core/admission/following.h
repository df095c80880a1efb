// Brings the books to decisions that another core made (contract/following_core.h).
//
// A request that is withdrawn leaves its lane or its replica, and its tenant is charged nothing. A request that is
// adopted joins its replica whatever the guards and the memory test say. Invariant: the books stay the sums of their
// members. Owned by nobody: functions of the rooms. O(log n + pools x horizons).
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_FOLLOWING_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_FOLLOWING_H_

#include "router/core/admission/entry.h"
#include "router/core/admission/rooms.h"
#include "router/core/admission/verdicts.h"
#include "router/core/contract/following_core.h"

namespace penstock {

// True: the books had the request.
bool WithdrawRequest(Rooms& rooms, RequestId request, Instant now);
// The replica is known and the books do not have the request. `again`: they had it just before.
Forward AdoptRequest(Rooms& rooms, Entry& entry, Verdicts& verdicts, const FollowedRequest& followed, bool again,
                     Instant now);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_FOLLOWING_H_
