#include "router/core/admission/memory_waits.h"

#include <algorithm>

namespace penstock {
namespace {

Amount UnusedOf(const FleetState& fleet, PoolId id, Instant now) {
  const PoolState& pool = fleet.pool(id);
  const Amount peak(static_cast<int64_t>(pool.growth().Peak(pool.risk().z(), now)));
  return std::max(Amount(0), fleet.ledger().Available(id) - peak);
}

}  // namespace

MemoryWaits MemoryWaitsOf(const Rooms& rooms, Instant now) {
  MemoryWaits waits;
  std::vector<bool> listed;
  for (size_t i = 0; i < rooms.waiting.lanes(); ++i) {
    const ModelId model(static_cast<uint32_t>(i));
    const Lane& lane = rooms.waiting.lane(model);
    if (lane.empty() || lane.First()->waiting.reason != WaitReason::kMemory) continue;
    waits.models.push_back(model);
    listed.resize(rooms.fleet.pools().size(), false);
    const bool in_prefill = lane.First()->stage.blocked;
    for (const size_t replica : in_prefill ? rooms.placement.pairs.prefillers().Of(model) : rooms.servers.Of(model)) {
      for (const PoolShare& share : rooms.fleet.replicas()[replica].spec().pools) {
        if (listed[share.pool.value()]) continue;
        listed[share.pool.value()] = true;
        waits.pools.push_back({share.pool, UnusedOf(rooms.fleet, share.pool, now)});
      }
    }
  }
  return waits;
}

}  // namespace penstock
