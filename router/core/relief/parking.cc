#include "router/core/relief/parking.h"

#include <algorithm>

namespace penstock {
namespace {

// A pool whose present use is above this part of the available memory is relieved.
constexpr double kNearlyFull = 0.97;
// Streams of a class and replica that are looked at for one that may be parked.
constexpr size_t kLookedAt = 8;
// Each costs some microseconds.
constexpr size_t kMostParkedPerEvent = 4;

}  // namespace

void Parking::StartEvent() { left_ = kMostParkedPerEvent; }

double Parking::Shortage(PoolId pool, double more, Instant now) const {
  const double room = PoolLending::kFill * fleet_.ledger().Available(pool).AsDouble() + recalls_.ReturningTo(pool);
  return fleet_.pool(pool).growth().Present(now) + recalls_.PromisedOf(pool) + more - room;
}

bool Parking::CouldHold(PoolId id, double more, bool returns, Instant now) const {
  const PoolState& pool = fleet_.pool(id);
  const double available = fleet_.ledger().Available(id).AsDouble() + recalls_.ReturningTo(id);
  const double lendable = pool.lending().lendable().AsDouble();
  if (Shortage(id, more, now) > lendable) return false;
  if (returns) return true;
  const double peak = pool.growth().Peak(pool.risk().z(), now) + more;
  const double needed = pool.lending().needed().AsDouble() + more;
  return peak - lendable <= available && needed <= PoolLending::kMostNeeded * available;
}

bool Parking::CouldHold(const RequestState& waiting, const ReplicaState& replica, Instant now) const {
  const std::vector<PoolShare>& shares = replica.spec().pools;
  return std::all_of(shares.begin(), shares.end(), [&](const PoolShare& share) {
    return CouldHold(share.pool, share.footprint.Expected(waiting.Prompt().AsDouble()), waiting.Returns(), now);
  });
}

RequestState* Parking::FurthestAhead(PoolId pool, Instant now) {
  RequestState* best = nullptr;
  Instant latest;
  for (ReplicaId id : fleet_.pool(pool).replicas()) {
    const ReplicaState& replica = fleet_.replica(id);
    const double pace = forecasts_.PaceOf(replica).now;
    ahead_.clear();
    for (uint32_t c = 0; c < fleet_.spec().classes.size(); ++c) {
      replica.streams().MostAhead(ClassId(c), kLookedAt, ahead_);
    }
    for (RequestId candidate : ahead_) {
      RequestState* request = requests_.Find(candidate);
      const Instant due = replica.streams().DueOf(*request);
      if ((best != nullptr && due <= latest) || !lending_.MayPark(*request, replica, pace, now)) continue;
      best = request;
      latest = due;
    }
  }
  return best;
}

void Parking::Free(PoolId pool, double more, Instant now, std::vector<Action>& actions) {
  while (left_ > 0 && Shortage(pool, more, now) > 0) {
    RequestState* request = FurthestAhead(pool, now);
    if (request == nullptr) return;
    --left_;
    recalls_.Take(request, AbortReason::kParking, now, actions);
  }
}

std::optional<size_t> Parking::MakeRoom(const RequestState& waiting, const std::vector<size_t>& crowded, Instant now,
                                        std::vector<Action>& actions) {
  if (!fleet_.GoalsOf(waiting).refuse_late) return std::nullopt;
  for (size_t index : crowded) {
    const ReplicaState& replica = fleet_.replicas()[index];
    if (!CouldHold(waiting, replica, now)) continue;
    for (const PoolShare& share : replica.spec().pools) {
      const double more = share.footprint.Expected(waiting.Prompt().AsDouble());
      Free(share.pool, more, now, actions);
      recalls_.Promise(share.pool, more);
    }
    return index;
  }
  return std::nullopt;
}

void Parking::Relieve(const ReplicaState& replica, Instant now, std::vector<Action>& actions) {
  for (const PoolShare& share : replica.spec().pools) {
    if (fleet_.pool(share.pool).lending().lendable() == Amount(0)) continue;
    const double available = fleet_.ledger().Available(share.pool).AsDouble();
    if (Shortage(share.pool, 0, now) > (kNearlyFull - PoolLending::kFill) * available)
      Free(share.pool, 0, now, actions);
  }
}

}  // namespace penstock
