#include "router/core/placement/floor_order.h"

namespace penstock {

WaitReason FloorOrder::closed() const {
  WaitReason reason = WaitReason::kNoReplicaUp;
  for (const WaitReasonTraits& traits : kWaitReasons) {
    if (closed_[static_cast<size_t>(traits.reason)] > 0) reason = HigherRanked(reason, traits.reason);
  }
  return reason;
}

FloorOrder::Spot& FloorOrder::SpotOf(size_t replica) {
  if (replica >= spots_.size()) spots_.resize(replica + 1);
  return spots_[replica];
}

void FloorOrder::Take(Spot& spot) {
  if (spot.closed) --closed_[static_cast<size_t>(*spot.closed)];
  spot.closed.reset();
  if (spot.grouped) {
    const auto group = groups_.find(spot.kind);
    group->second.members.erase(spot.member);
    if (group->second.members.empty()) groups_.erase(group);
  }
  spot.grouped = false;
}

void FloorOrder::Put(size_t replica, const Kind& kind, double share, double limit, double runway,
                     const PrefillPrice& price) {
  Spot& spot = SpotOf(replica);
  if (!spot.grouped || !(spot.kind == kind)) {
    Take(spot);
    spot.kind = kind;
  }
  const Member member = {share, static_cast<uint32_t>(replica), price};
  Group& group = groups_[kind];
  if (!spot.grouped || spot.member.share != share || !(spot.member.price == price)) {
    if (spot.grouped) group.members.erase(spot.member);
    if (group.members.empty()) group = Group();
    group.members.insert(member);
    spot.member = member;
    spot.grouped = true;
  }
  group.most_limit = std::max(group.most_limit, limit);
  group.least_runway = std::min(group.least_runway, runway);
}

void FloorOrder::Close(size_t replica, WaitReason reason) {
  Spot& spot = SpotOf(replica);
  Take(spot);
  spot.closed = reason;
  ++closed_[static_cast<size_t>(reason)];
}

}  // namespace penstock
