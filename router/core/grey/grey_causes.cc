// The causes of grey failures: a replica, its GPU or its node.
#include "router/core/grey/grey_watch.h"

namespace penstock {

GreyCause GreyWatch::CauseOf(const ReplicaState& replica, Instant now) const {
  const std::vector<ReplicaState>& all = fleet_.replicas();
  int judged = 0;
  for (const size_t neighbour : fleet_.NeighboursOf(replica)) {
    if (!IsFresh(all[neighbour], now)) continue;
    if (!IsSlow(all[neighbour], now)) return GreyCause::kReplica;
    ++judged;
  }
  const GreyCause nearest = judged > 0 ? GreyCause::kGpu : GreyCause::kReplica;
  const auto node = [&](const ReplicaState& of) {
    const std::vector<uint32_t>& gpus = of.spec().gpus;
    return gpus.empty() || gpus.front() >= node_of_.size() ? kNoNode : node_of_[gpus.front()];
  };
  if (node(replica) == kNoNode) return nearest;
  int elsewhere = 0;  // Slow replicas on other GPUs of the node.
  for (const ReplicaState& other : all) {
    if (&other == &replica || node(other) != node(replica) || !IsFresh(other, now)) continue;
    if (!IsSlow(other, now)) return nearest;
    elsewhere += other.spec().gpus.front() != replica.spec().gpus.front() ? 1 : 0;
  }
  return elsewhere > 0 ? GreyCause::kNode : nearest;
}

void GreyWatch::ReviseCauses(Instant now) {
  for (const size_t index : listed_) {
    ReplicaState& replica = fleet_.replicas()[index];
    GreyState& grey = replica.facts.grey;
    if (grey.cause != GreyCause::kReplica && grey.cause != GreyCause::kGpu) continue;
    const GreyCause cause = CauseOf(replica, now);
    if (cause <= grey.cause) continue;
    grey.cause = cause;
    ++grey.events[static_cast<size_t>(cause)];
  }
}

}  // namespace penstock
