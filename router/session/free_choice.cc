#include "router/session/free_choice.h"

#include <algorithm>
#include <vector>

#include "absl/hash/hash.h"

namespace penstock {
namespace {

constexpr int kMostFree = 64;
// The share of one place, as no small holding.
constexpr Bytes kFreePlace{1 << 20};

}  // namespace

FreeTurn FreeTurnOf(const EngineNotes* notes) {
  if (notes == nullptr) return FreeTurn::kFirst;
  const Health health = notes->health.load(std::memory_order_relaxed);
  if (health == Health::kDown || notes->away.load(std::memory_order_relaxed)) return FreeTurn::kNever;
  return health == Health::kUp ? FreeTurn::kFirst : FreeTurn::kSecond;
}

std::optional<size_t> FreeChoice::Find(FreeTurn turn) const {
  const std::vector<ReplicaSpec>& replicas = state_.fleet->book.fleet().replicas;
  const size_t count = std::min(replicas.size(), state_.fleet->engines.size());
  const std::optional<ReplicaId> home = state_.prepared.home;
  if (home && turn_) return std::nullopt;
  // The id of the request spreads the first choices.
  const size_t first = turn_ ? *turn_ + 1 : absl::HashOf(state_.request.id);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (first + i) % count;
    const EngineAccess& engine = state_.fleet->engines[at];
    if (!engine.capabilities || !engine.capabilities->Supports(state_.request.endpoint)) continue;
    if (replicas[at].removed || !replicas[at].Serves(state_.prepared.model)) continue;
    if (home && at != home->value()) continue;
    if (FreeTurnOf(engine.notes.get()) == turn) return at;
  }
  return std::nullopt;
}

Verdict FreeChoice::Next() {
  if (state_.loop.edge().draining.load(std::memory_order_relaxed)) {
    return Refuse{RequestId(), Refusal::kShuttingDown, Duration::Seconds(1), 0, 0};
  }
  FairBudget& places = state_.loop.free_requests();
  const TenantId tenant = state_.prepared.caller.tenant;
  const uint64_t caller = tenant == TenantId() ? state_.request.peer : absl::HashOf(tenant);
  if (place_.held() == Bytes(0)) place_ = FairShare(&places, caller);
  if (!place_.GrowTo(kFreePlace, kFreePlace * kMostFree)) {
    const auto running = static_cast<int>(places.used().value() / kFreePlace.value());
    return Refuse{RequestId(), Refusal::kQueueFull, Duration::Seconds(1), kMostFree, running};
  }
  state_.fleet = state_.loop.fleet();
  std::optional<size_t> found = Find(FreeTurn::kFirst);
  if (!found) found = Find(FreeTurn::kSecond);
  if (found) {
    turn_ = found;
    Forward forward;
    forward.replica = ReplicaId(static_cast<uint32_t>(*found));
    return forward;
  }
  return Refuse{RequestId(), Refusal::kNoReplica, Duration::Seconds(1), 0, 0};
}

}  // namespace penstock
