#include "router/core/relief/eviction.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "router/core/placement/giving_way.h"

namespace penstock {
namespace {

// An event looks at so many pools or replicas; each look costs some microseconds.
constexpr size_t kMostLooks = 8;
constexpr size_t kMostPerEvent = 16;
// Evictable classes do not get evicted memory back until its idleness has cost so many times the GPU time to compute
// its context again. With 0 a fleet full of jobs computed twice as much again, and interactive requests waited longer
// (bench/results/eviction.md).
constexpr double kIdlePerRecompute = 2;
constexpr Duration kLongestIdle = Duration::Seconds(60);

}  // namespace

void Eviction::StartEvent() {
  looks_ = kMostLooks;
  left_ = kMostPerEvent;
}

bool Eviction::IsEvictable(const RequestState& running, const RequestState& waiting, Instant now) const {
  const RequestArrived& arrived = running.arrived;
  return arrived.service_class > waiting.arrived.service_class && fleet_.GoalsOf(running).evictable &&
         running.Running() && running.running.dispatched < now && running.evictions < kMostEvictions &&
         !running.service.guaranteed && arrived.regenerable &&
         (arrived.continues || running.phase == RequestPhase::kPrefilling);
}

void Eviction::FindVictims(const RequestState& waiting, const std::vector<ReplicaId>& replicas,
                           std::optional<PoolId> pool, Instant now) {
  victims_.clear();
  for (const ReplicaId id : replicas) {
    const ReplicaState& replica = fleet_.replica(id);
    for (RequestState* request : replica.requests()) {
      if (!IsEvictable(*request, waiting, now)) continue;
      double room = request->arrived.sequences;
      for (const PoolMembership& in : request->pools) {
        if (pool && in.pool == *pool) room = std::max(1.0, in.holding.held.AsDouble());
      }
      victims_.push_back({request, request->arrived.service_class, lending_.SunkCostOf(*request, replica), room});
    }
  }
  std::sort(victims_.begin(), victims_.end(), [](const Victim& a, const Victim& b) {
    return std::make_tuple(b.service_class, a.recompute * b.room, b.request->sequence) <
           std::make_tuple(a.service_class, b.recompute * a.room, a.request->sequence);
  });
}

void Eviction::Evict(RequestState* request, Instant now, std::vector<Action>& actions) {
  --left_;
  recalls_.Take(request, AbortReason::kEviction, now, actions);
}

double Eviction::SunkCostOf(double lacking, bool all_are_enough) const {
  double cost = 0;
  for (const Victim& victim : victims_) {
    if (lacking <= 0) return cost;
    lacking -= victim.room;
    cost += victim.recompute;
  }
  return lacking > 0 && !all_are_enough ? std::numeric_limits<double>::infinity() : cost;
}

bool Eviction::MakeMemory(const RequestState& waiting, const ReplicaState& replica, Instant now,
                          std::vector<Action>& actions) {
  for (const PoolShare& share : replica.spec().pools) {
    PoolState& pool = fleet_.pool(share.pool);
    const auto missing = [&] {
      return memory_.Missing(waiting, replica, share, now) + recalls_.PromisedOf(share.pool) -
             recalls_.ReturningTo(share.pool);
    };
    if (const double lacking = missing(); lacking > 0) {
      FindVictims(waiting, pool.replicas(), share.pool, now);
      // A lone request may enter an empty pool whatever its forecast.
      const bool would_be_alone = pool.growth().members() == static_cast<int64_t>(victims_.size());
      if (SunkCostOf(lacking, would_be_alone) > fleet_.GoalsOf(waiting).ttft.seconds()) return false;
      for (const Victim& victim : victims_) {
        if (left_ == 0 || missing() <= 0) break;
        Evict(victim.request, now, actions);
        const double idle = kIdlePerRecompute * victim.recompute * pool.spec().capacity.AsDouble() / victim.room;
        pool.yielding().Evicted(now + std::min(kLongestIdle, Duration::Seconds(idle)));
      }
    }
    recalls_.Promise(share.pool, share.footprint.Expected(waiting.Prompt().AsDouble()));
  }
  return true;
}

bool Eviction::MakeRows(const RequestState& waiting, const ReplicaState& replica, Instant now,
                        std::vector<Action>& actions) {
  int lacking = static_cast<int>(replica.sequences()) + waiting.arrived.sequences - RowsOf(replica, now);
  FindVictims(waiting, {ReplicaId(static_cast<uint32_t>(fleet_.PositionOf(replica)))}, std::nullopt, now);
  if (SunkCostOf(lacking, /*all_are_enough=*/false) > fleet_.GoalsOf(waiting).ttft.seconds()) return false;
  for (const Victim& victim : victims_) {
    if (left_ == 0 || lacking <= 0) break;
    lacking -= victim.request->arrived.sequences;
    Evict(victim.request, now, actions);
  }
  return true;
}

std::optional<size_t> Eviction::MakeRoom(const RequestState& waiting, const Placement& tried, Instant now,
                                         std::vector<Action>& actions) {
  if (waiting.waiting.best_effort) return std::nullopt;
  for (const size_t index : tried.crowded()) {
    if (looks_ == 0 || left_ == 0) return std::nullopt;
    --looks_;
    if (MakeMemory(waiting, fleet_.replicas()[index], now, actions)) return index;
  }
  for (const size_t index : tried.without_rows()) {
    if (looks_ == 0 || left_ == 0) return std::nullopt;
    --looks_;
    if (MakeRows(waiting, fleet_.replicas()[index], now, actions)) return index;
  }
  return std::nullopt;
}

}  // namespace penstock
