// Watches the engines: recognises them, learns what they are, polls them, and tells the core and the loops.
//
// One coroutine per engine runs on the control loop. It probes until the engine answers (a replica is known within 1 s
// of that) and discovers it. Then it polls every poll.interval, reads the facts again at times (Rereader), and probes
// again when the engine is lost. Owns the FleetBook. The core learns first of a replica that leaves, and last of one
// that comes (FleetPublisher). Requests at a replica that is down or hangs are given up where they hear nothing of it.
// Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_FLEET_MONITOR_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_FLEET_MONITOR_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "backends/health/replica_health.h"
#include "config/config.h"
#include "router/fleet/fleet_book.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/adapter_keeper.h"
#include "router/live/fleet/departures.h"
#include "router/live/fleet/fleet_publisher.h"
#include "router/live/fleet/hang_patrol.h"
#include "router/live/fleet/rereader.h"
#include "router/live/fleet/sleep_keeper.h"
#include "router/live/fleet/watched_replica.h"

namespace penstock {

class FleetMonitor {
 public:
  // The url of a replica; differs from the configured one for replicas simulated in this process.
  using UrlOf = std::function<std::string(const ReplicaConfig&)>;

  FleetMonitor(EventLoop& control, std::vector<EventLoop*> loops, const Config& config, UrlOf url_of);
  ~FleetMonitor() = default;
  FleetMonitor(const FleetMonitor&) = delete;
  FleetMonitor& operator=(const FleetMonitor&) = delete;

  // The first view, to be given to every loop before they run.
  std::shared_ptr<const FleetView> FirstView() { return departures_.Note(MakeView()); }
  const FleetBook& book() const { return book_; }
  // From now on the figures of other keepers have the names of their replicas.
  void Start();
  // Calls `published` on the control loop once the core and every loop have the new fleet.
  void Reload(const Config& config, std::function<void()> published);
  // Ends all coroutines; they are guests of the control loop until then.
  void Stop();
  // Takes a relay's finding.
  void OnNews(ReplicaId replica, EngineNews news);
  // A stream of the replica got a token then.
  void OnToken(ReplicaId replica, Instant then);
  // Carry out an order of the core. Its end is an event.
  void OnOrder(ReplicaId replica, Verb verb, SleepLevel level = SleepLevel::kUnsaid);
  void OnOrder(const LoadAdapter& order);

 private:
  boost::asio::awaitable<void> Watch(std::shared_ptr<WatchedReplica> watched);
  boost::asio::awaitable<void> Round(WatchedReplica& watched);
  boost::asio::awaitable<absl::Status> Discover(WatchedReplica& watched);
  boost::asio::awaitable<absl::Status> Poll(WatchedReplica& watched);
  void StartWatching();
  void StopWatching(ReplicaId replica);
  // The engine has other facts now: tells the core and the loops.
  void TellFacts(WatchedReplica& watched);
  // Tells the core what changed.
  void Judge(WatchedReplica& watched);
  const std::string& NameOf(const WatchedReplica& watched) const {
    return book_.fleet().replicas[watched.id.value()].name;
  }
  void LogLost(WatchedReplica& watched, const absl::Status& status);
  void CountUp();
  // The core knows the health that the replica had when it was published.
  void OnTold(ReplicaId replica);
  std::shared_ptr<const FleetView> MakeView() const;

  EventLoop& control_;
  FleetPublisher publisher_;
  const UrlOf url_of_;
  FleetBook book_;
  Departures departures_;
  HangPatrol patrol_;
  Rereader rereader_;
  SleepKeeper keeper_;
  AdapterKeeper adapters_;
  absl::btree_map<ReplicaId, std::shared_ptr<WatchedReplica>> watched_;  // One per engine, by its first replica.
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_FLEET_MONITOR_H_
