#include "router/policies/gates/memory_gate.h"

#include <algorithm>

namespace penstock {

uint64_t MemoryGate::VersionOf(ReplicaId id) const {
  uint64_t version = 0;
  for (const PoolShare& share : spec(id).pools) version += versions_[share.pool.value()];
  return version;
}

std::variant<double, WaitReason> MemoryGate::Test(const RequestArrived& request, ReplicaId id) {
  const int64_t running = replica(id).running;
  if (running > 0 && running + request.sequences > spec(id).max_sequences) return WaitReason::kSequences;
  double fullest = 0;
  for (const PoolShare& share : spec(id).pools) {
    const double capacity = std::max(1.0, fleet().pools[share.pool.value()].capacity.AsDouble());
    const double need = NeedWith(share.pool, share.footprint, request) / capacity;
    if (need > share_ && !members(share.pool).empty()) return WaitReason::kMemory;
    fullest = std::max(fullest, need);
  }
  return fullest;
}

RivalRule::Choice MemoryGate::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  std::optional<ReplicaId> best;
  double best_share = 0;
  WaitReason reason = WaitReason::kSequences;
  for (ReplicaId id : candidates) {
    Tried& tried = tried_[id.value()];
    const uint64_t version = VersionOf(id) + 1;
    const bool known = tried.version == version && tried.request == request.request;
    const std::variant<double, WaitReason> result =
        known ? std::variant<double, WaitReason>(tried.reason) : Test(request, id);
    if (const WaitReason* full = std::get_if<WaitReason>(&result)) {
      tried = {request.request, version, *full};
      if (*full == WaitReason::kMemory) reason = WaitReason::kMemory;
      continue;
    }
    const double share = std::get<double>(result);
    if (best && best_share <= share) continue;
    best = id;
    best_share = share;
  }
  return best ? Choice(*best) : Choice(reason);
}

void MemoryGate::OnDispatched(const Live& live) {
  const double expected = Expect(live.request);
  for (const PoolShare& share : spec(live.replica).pools) {
    members_[share.pool.value()][live.request.request] = {share.footprint, expected};
    ++versions_[share.pool.value()];
  }
}

void MemoryGate::OnEnded(const Live& live, const RequestClosed* closed) {
  // By `held`, not by the replica's pools: the fleet may have changed under a running request.
  for (const auto& [pool, amount] : live.held) {
    members_[pool.value()].erase(live.request.request);
    ++versions_[pool.value()];
  }
  if (closed == nullptr || closed->outcome != Outcome::kFinished || live.request.embedding) return;
  if (closed->output > Tokens(0))
    Learn(live.request, std::max<int64_t>(1, closed->output.value() / live.request.sequences));
}

void MemoryGate::OnReport(ReplicaId id) {
  for (const PoolShare& share : spec(id).pools) ++versions_[share.pool.value()];
}

void MemoryGate::OnFleet() {
  members_.resize(fleet().pools.size());
  versions_.resize(fleet().pools.size());
  for (uint64_t& version : versions_) ++version;
  tried_.assign(fleet().replicas.size(), Tried{});
}

Growing GrowingOf(const Footprint& footprint, const RequestArrived& request, double generated, double output) {
  const double prompt = footprint.Expected(request.prompt.AsDouble());
  const double steps = std::max(1.0, output - generated);
  const auto held = [&](double tokens) {
    return prompt + (footprint.Expected(request.prompt.AsDouble() + tokens) - prompt) * request.sequences;
  };
  return {held(generated), (held(generated + steps) - held(generated)) / steps, steps};
}

double FuturePeak(std::vector<Growing> requests) {
  std::sort(requests.begin(), requests.end(), [](const Growing& a, const Growing& b) { return a.steps > b.steps; });
  double peak = 0;
  double held = 0;
  double per_step = 0;
  for (const Growing& request : requests) {
    held += request.held;
    per_step += request.per_step;
    peak = std::max(peak, held + request.steps * per_step);
  }
  return peak;
}

}  // namespace penstock
