#include "router/core/relief/fatal_pools.h"

#include "router/core/relief/victims.h"

namespace penstock {
namespace {

// Seconds that an abort takes, with the sampling that notices the danger. Both values are held by the run of
// bench/results/memory-safety.md, in which no request fails.
constexpr double kFatalLookahead = 0.5;
// Share of the available memory.
constexpr double kFatalLimit = 0.98;

}  // namespace

FatalPools::FatalPools(FleetState& fleet, RunningRequests& running)
    : fleet_(fleet), running_(running), returning_(fleet.ledger(), Duration::Seconds(kFatalLookahead)) {}

bool FatalPools::IsInDanger(const PoolShare& share, Instant now) const {
  const PoolState& pool = fleet_.pool(share.pool);
  double soon = pool.growth().Present(now);
  for (ReplicaId id : pool.replicas()) {
    const ReplicaState& member = fleet_.replica(id);
    soon += static_cast<double>(member.streams().sequences()) * member.Pace(fleet_.BusyNeighbours(member)).now *
            kFatalLookahead * share.footprint.full_per_token;
  }
  const double available = fleet_.ledger().Available(share.pool).AsDouble() + returning_.To(share.pool);
  return soon > kFatalLimit * available;
}

void FatalPools::Protect(const ReplicaState& replica, Instant now, std::vector<Action>& actions) {
  returning_.ForgetOld(now);
  for (const PoolShare& share : replica.spec().pools) {
    const PoolState& pool = fleet_.pool(share.pool);
    if (!pool.spec().overflow_fatal) continue;
    while (IsInDanger(share, now)) {
      RequestState* victim = VictimIn(pool, fleet_);
      if (victim == nullptr) break;
      running_.Leave(victim, now);
      victim->phase = RequestPhase::kAborting;
      // Until the edge has closed the connection the memory is not on its way back.
      fleet_.ledger().Drain(victim->running.lease, Instant::Never());
      returning_.Expect(victim->running.lease, now);
      ++aborts_;
      actions.push_back(Abort{victim->arrived.request, victim->running.lease});
    }
  }
}

}  // namespace penstock
