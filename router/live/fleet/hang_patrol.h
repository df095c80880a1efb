// Finds replicas that answer their polls but do no work, from the polls, the streams and the core's books. Tells the
// log which replicas the core found slow.
//
// The core is asked at most once per second, for all replicas together. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_

#include "absl/container/btree_map.h"
#include "backends/engines/contract/discovery.h"
#include "backends/health/hang_watch.h"
#include "base/ids.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/grey_notices.h"

namespace penstock {

class HangPatrol {
 public:
  explicit HangPatrol(EventLoop& control) : control_(control) {}

  // A stream of the replica got a token then.
  void OnToken(ReplicaId replica, Instant then);
  struct Limits {
    Duration least;
    int silent = 0;  // Running requests that show no work.
  };
  // After a good poll. The time without a sign of work, if it is too long; zero otherwise.
  Duration HangsFor(ReplicaId replica, const ReplicaSpec& spec, const Observation& seen, Limits limits, Instant now);
  // The engine is watched from the start again.
  void Forget(ReplicaId replica) { watches_.erase(replica); }

 private:
  // The core's view, at most a second old. The log learns what is slow in a new one.
  const CoreView& ViewAt(Instant now);
  HangWatch::Work WorkOf(ReplicaId replica, const ReplicaSpec& spec, Instant now);

  EventLoop& control_;
  absl::btree_map<ReplicaId, HangWatch> watches_;
  GreyNotices grey_;
  CoreView view_;
  Instant viewed_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_
