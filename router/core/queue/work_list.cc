#include "router/core/queue/work_list.h"

#include <algorithm>

namespace penstock {

void WorkList::Configure(size_t lanes) {
  lanes_.resize(lanes);
  for (LaneWork& lane : lanes_) lane.unfinished = true;
  is_open_.resize(fleet_.replicas().size(), false);
}

bool WorkList::Spend(size_t tries) {
  if (budget_ < tries) return false;
  budget_ -= tries;
  return true;
}

void WorkList::OpenOne(size_t replica) {
  if (is_open_[replica]) return;
  is_open_[replica] = true;
  opened_.push_back(replica);
}

void WorkList::Open(const ReplicaState& replica) {
  OpenOne(fleet_.PositionOf(replica));
  for (const PoolShare& share : replica.spec().pools) {
    for (ReplicaId member : fleet_.pool(share.pool).replicas()) OpenOne(member.value());
  }
  if (replica.busy()) return;
  for (size_t neighbour : fleet_.NeighboursOf(replica)) OpenOne(neighbour);
}

void WorkList::OpenPool(PoolId pool) {
  for (ReplicaId member : fleet_.pool(pool).replicas()) Open(fleet_.replica(member));
}

void WorkList::SortOpened() { std::sort(opened_.begin(), opened_.end()); }

void WorkList::ClearOpened() {
  for (size_t replica : opened_) is_open_[replica] = false;
  opened_.clear();
}

void WorkList::LetOthersPast(ModelId model) {
  LaneWork& lane = lanes_[model.value()];
  if (lane.untried) lane.unfinished = true;
}

void WorkList::EndPump(ModelId model, bool untried) {
  LaneWork& lane = lanes_[model.value()];
  lane.untried = untried;
  if (untried) lane.skipped = pumps_;
}

}  // namespace penstock
