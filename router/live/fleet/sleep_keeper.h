// The sleep of all replicas, as the fleet monitor meets it.
//
// It gives each replica that may sleep a Sleeper, and each Sleeper the facts of its engine. It turns their news into
// events of the core, metrics and lines of the log. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_SLEEP_KEEPER_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_SLEEP_KEEPER_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/fleet_publisher.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

class SleepKeeper {
 public:
  // The way of an event to the core, behind the fleet that it needs.
  using Publish = std::function<void(const ReplicaResidency&)>;

  SleepKeeper(EventLoop& control, const FleetBook& book, FleetPublisher& publisher, Publish publish)
      : control_(control), book_(book), publisher_(publisher), publish_(std::move(publish)) {}

  // The replica is watched from now on; or its configuration is new.
  void Configure(WatchedReplica& watched);
  // The book has the discovery of its engine. `anew`: it may be another process than before.
  void OnDiscovered(WatchedReplica& watched, bool anew = true);
  // The replica is not watched any more. One that left the fleet leaves no start command behind.
  void Leave(const WatchedReplica& watched);
  // Replicas that left are not waited for any more.
  void Stop();
  // `level`: of a sleep.
  void Order(WatchedReplica& watched, Verb verb, SleepLevel level);
  // After a round of the monitor that began then, and ended with `status`.
  boost::asio::awaitable<void> AfterRound(WatchedReplica& watched, absl::Status status, Instant began);

  // The engine refused a request, because its model is not in memory.
  static void OnSaidAsleep(WatchedReplica& watched);

  // The health that counts: a replica that a command stopped is not down.
  Health HealthOf(const WatchedReplica& watched) const;
  // The time until the next round; `usual` where it is awake.
  static Duration PauseOf(const WatchedReplica& watched, Duration usual);
  static bool HidesAbsence(const WatchedReplica& watched) {
    return watched.sleeper != nullptr && watched.sleeper->hides_absence();
  }

 private:
  void OnNews(const std::string& replica, const SleepNews& news);

  EventLoop& control_;
  const FleetBook& book_;
  FleetPublisher& publisher_;
  const Publish publish_;
  std::vector<std::weak_ptr<Sleeper>> leaving_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_SLEEP_KEEPER_H_
