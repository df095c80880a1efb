// Finds the models that memory holds back, and the memory of their pools that no forecast needs. Pure.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_MEMORY_WAITS_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_MEMORY_WAITS_H_

#include "router/core/admission/rooms.h"
#include "router/core/contract/memory_waits.h"

namespace penstock {

// O(models + pools of the replicas of those that wait for memory).
MemoryWaits MemoryWaitsOf(const Rooms& rooms, Instant now);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_MEMORY_WAITS_H_
