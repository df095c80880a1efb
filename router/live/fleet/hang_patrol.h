// Finds replicas that answer their polls but do no work, from the polls, the streams and the core's books. Tells the
// log which replicas the core found slow.
//
// The core is asked at most once per second, for all replicas together. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "backends/engines/contract/discovery.h"
#include "backends/health/hang_watch.h"
#include "base/ids.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/view.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/grey_notices.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

class HangPatrol {
 public:
  explicit HangPatrol(EventLoop& control) : control_(control) {}

  // A stream of the replica got a token then.
  void OnToken(ReplicaId replica, Instant then);
  // After a good poll. True: the engine answers its pages, and gave no sign of work for too long. The log,
  // the metrics and its health have it. `least`: limits.hang_after.
  bool FindsHang(WatchedReplica& watched, const ReplicaSpec& spec, const Observation& seen, Duration least);
  // A busy engine may answer its pages late. True: the poll came to no end in time, and a stream got a token since the
  // last second began.
  bool Excuses(ReplicaId replica, const absl::Status& poll, Instant now) const;
  // The engine is watched from the start again.
  void Forget(ReplicaId replica) { watches_.erase(replica); }

 private:
  // The core's view, at most a second old. The log learns what is slow in a new one.
  const CoreView& ViewAt(Instant now);
  // The time without a sign of work, if it is too long; zero otherwise.
  Duration HangsFor(const WatchedReplica& watched, const ReplicaSpec& spec, const Observation& seen, Duration least,
                    Instant now);
  HangWatch::Work WorkOf(ReplicaId replica, const ReplicaSpec& spec, Instant now);

  EventLoop& control_;
  absl::btree_map<ReplicaId, HangWatch> watches_;
  GreyNotices grey_;
  CoreView view_;
  Instant viewed_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_HANG_PATROL_H_
