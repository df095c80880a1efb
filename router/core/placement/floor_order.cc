#include "router/core/placement/floor_order.h"

namespace penstock {

WaitReason FloorOrder::closed() const {
  WaitReason reason = WaitReason::kNoReplicaUp;
  for (const WaitReasonTraits& traits : kWaitReasons) {
    if (closed_[static_cast<size_t>(traits.reason)] > 0) reason = HigherRanked(reason, traits.reason);
  }
  return reason;
}

// Takes the replica out of its group or its count.
FloorOrder::Spot& FloorOrder::Take(size_t replica) {
  if (replica >= spots_.size()) spots_.resize(replica + 1);
  Spot& spot = spots_[replica];
  if (spot.closed) --closed_[static_cast<size_t>(*spot.closed)];
  spot.closed.reset();
  if (spot.grouped) {
    const auto group = groups_.find(spot.kind);
    group->second.members.erase({spot.share, static_cast<uint32_t>(replica)});
    if (group->second.members.empty()) groups_.erase(group);
  }
  spot.grouped = false;
  return spot;
}

void FloorOrder::Put(size_t replica, const Kind& kind, double share, double limit, double runway) {
  const bool known = replica < spots_.size() && spots_[replica].grouped;
  if (!known || spots_[replica].share != share || !(spots_[replica].kind == kind)) {
    Spot& spot = Take(replica);
    spot.kind = kind;
    spot.share = share;
    spot.grouped = true;
    groups_[kind].members.insert({share, static_cast<uint32_t>(replica)});
  }
  Group& group = groups_[kind];
  group.most_limit = std::max(group.most_limit, limit);
  group.least_runway = std::min(group.least_runway, runway);
}

void FloorOrder::Close(size_t replica, WaitReason reason) {
  Spot& spot = Take(replica);
  spot.closed = reason;
  ++closed_[static_cast<size_t>(reason)];
}

}  // namespace penstock
