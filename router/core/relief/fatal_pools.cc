#include "router/core/relief/fatal_pools.h"

#include "router/core/relief/victims.h"

namespace penstock {
namespace {

// The part of the available memory that may be full soon. The run of bench/results/memory-safety.md holds it: no
// request fails there.
constexpr double kFatalLimit = 0.98;

}  // namespace

bool FatalPools::IsInDanger(const PoolShare& share, Instant now) const {
  const PoolState& pool = fleet_.pool(share.pool);
  double soon = pool.growth().Present(now);
  for (ReplicaId id : pool.replicas()) {
    const ReplicaState& member = fleet_.replica(id);
    soon += static_cast<double>(member.streams().sequences()) * member.Pace(fleet_.BusyNeighbours(member)).now *
            Recalls::kLongest.seconds() * share.footprint.full_per_token;
  }
  // Memory that takes longer to come back is too late.
  const double returning = recalls_.ReturningTo(share.pool, now - Recalls::kLongest);
  const double available = fleet_.ledger().Available(share.pool).AsDouble() + returning;
  return soon > kFatalLimit * available;
}

void FatalPools::Protect(const ReplicaState& replica, Instant now, std::vector<Action>& actions) {
  for (const PoolShare& share : replica.spec().pools) {
    const PoolState& pool = fleet_.pool(share.pool);
    if (!pool.spec().overflow_fatal) continue;
    while (IsInDanger(share, now)) {
      RequestState* victim = VictimIn(pool, fleet_);
      if (victim == nullptr) break;
      recalls_.Take(victim, AbortReason::kPoolFull, now, actions);
      ++aborts_;
    }
  }
}

}  // namespace penstock
