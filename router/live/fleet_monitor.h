// Watches the engines: recognises them, learns what they are, polls them, and tells the core and the loops.
//
// One coroutine per replica runs on the control loop. It probes until the engine answers (a replica is known within 1 s
// of that) and discovers it. Then it polls every poll.interval, and probes again when the engine is lost. Owns the
// FleetBook. A change of the fleet goes to every loop first, and to the core when all loops have it. So no loop is sent
// to a replica that it does not know. The core learns first of a replica that leaves. Belongs to the control loop,
// except members marked otherwise.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_MONITOR_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_MONITOR_H_

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

namespace penstock {

class FleetMonitor {
 public:
  // The url of a replica; differs from the configured one for replicas simulated in this process.
  using UrlOf = std::function<std::string(const ReplicaConfig&)>;

  FleetMonitor(EventLoop& control, std::vector<EventLoop*> loops, const Config& config, UrlOf url_of);
  ~FleetMonitor();
  FleetMonitor(const FleetMonitor&) = delete;
  FleetMonitor& operator=(const FleetMonitor&) = delete;

  // The first view, to be given to every loop before they run.
  std::shared_ptr<const FleetView> FirstView() const { return MakeView(); }
  void Start();
  // Calls `published` on the control loop once the core and every loop have the new fleet.
  void Reload(const Config& config, std::function<void()> published);
  // Ends all coroutines; they are guests of the control loop until then.
  void Stop();
  // Takes a relay's finding.
  void OnNews(ReplicaId replica, EngineNews news);

 private:
  struct Watched;
  boost::asio::awaitable<void> Watch(std::shared_ptr<Watched> watched);
  boost::asio::awaitable<void> Round(Watched& watched);
  boost::asio::awaitable<absl::Status> Discover(Watched& watched);
  boost::asio::awaitable<absl::Status> Poll(Watched& watched);
  void StartWatching();
  void Connect(Watched& watched);
  void StopWatching(ReplicaId replica);
  void Judge(Watched& watched);
  void LogLost(Watched& watched, const absl::Status& status);
  void Notice(const Watched& watched, std::string message);
  // Then submits `then` to the core and calls `published`, where it is given.
  void Publish(std::vector<Event> then, std::function<void()> published = nullptr);
  void CountUp();
  std::shared_ptr<const FleetView> MakeView() const;
  EngineAccess AccessTo(ReplicaId replica) const;

  EventLoop& control_;
  const std::vector<EventLoop*> loops_;
  const UrlOf url_of_;
  FleetBook book_;
  absl::btree_map<ReplicaId, std::shared_ptr<Watched>> watched_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_MONITOR_H_
