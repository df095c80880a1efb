// All waiting requests: a lane per model, and the instants at which they must be looked at.
//
// Invariant: a waiting request stands in the lane of its model and once among the checks. It counts once in the number
// and bytes that wait. Owned by Rooms. Push and Remove are O(log n).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_WAITING_ROOM_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_WAITING_ROOM_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/core/queue/lane.h"

namespace penstock {

class WaitingRoom {
 public:
  // The fleet has a new description: every waiting request is to be tried everywhere again. Lanes of vacant models
  // forget what they learned.
  void Configure(const Fleet& fleet);

  // The request waits from now on and is looked at again at `check`.
  void Push(RequestState* request, Instant check);
  void Remove(RequestState* request);
  void CheckAt(RequestState* request, Instant check);
  // The parked stream is due back: it is looked at from now on.
  void Return(RequestState* request, Instant now);
  // Every parked stream is to be looked at now.
  void CheckParked(Instant now);
  // The request whose check is due first; nullopt when none waits.
  std::optional<std::pair<Instant, RequestId>> FirstCheck() const;

  size_t lanes() const { return lanes_.size(); }
  Lane& lane(ModelId model) { return lanes_[model.value()]; }
  const Lane& lane(ModelId model) const { return lanes_[model.value()]; }
  int64_t requests() const { return requests_; }
  // True: more waits than the limits allow.
  bool OverLimits(const CoreLimits& limits) const;
  // Seconds until the request's lane has moved on by its length, 1 to 60.
  Duration RetryAfter(ModelId model, Instant now) const;

  // Adds its part of a view. O(models x classes + configured tenants + tenants of each class that somebody waits in).
  void Show(const Fleet& fleet, CoreView& view, Instant now) const;
  // True: counts, bytes and checks are those of the lanes. O(waiting).
  bool SumsHold() const;

 private:
  void ShowShares(const Fleet& fleet, CoreView& view) const;

  FairTerms terms_;
  std::vector<Lane> lanes_;                                // One entry per model.
  absl::btree_set<std::pair<Instant, RequestId>> checks_;  // Earliest first.
  int64_t requests_ = 0;
  Bytes bytes_{0};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_WAITING_ROOM_H_
