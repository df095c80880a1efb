// One replica as the fleet monitor watches it: its connection, its scraper, its health. Belongs to the control loop.
#ifndef PENSTOCK_ROUTER_LIVE_FLEET_WATCHED_REPLICA_H_
#define PENSTOCK_ROUTER_LIVE_FLEET_WATCHED_REPLICA_H_

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/engines/scrape/engine_scraper.h"
#include "backends/health/replica_health.h"
#include "backends/health/reread_times.h"
#include "backends/socket/cut_off.h"
#include "config/config.h"
#include "router/live/event_loop.h"
#include "router/live/fleet/sleeper.h"
#include "router/live/fleet_view.h"

namespace penstock {

// The readings of a replica's facts while it is up.
struct Rereading {
  // The facts were read anew as a whole.
  void OnDiscovered() {
    ++discoveries;
    missed.clear();
  }

  RereadTimes times;
  int discoveries = 0;  // A reading from before the last one is out of date.
  bool under_way = false;
  bool failed = false;  // The last one; logged.
  // The models that the last reading did not find. They are served until another reading does not find them either.
  std::vector<std::string> missed = {};
};

// The health of a replica as the core has it.
struct ToldHealth {
  std::optional<Health> health;  // On its way to the core, or there.
  bool placeable = false;        // The core knows that it may place requests there.

  bool TakesRequests() const { return health == Health::kUp || health == Health::kProbing; }
};

// The troubles of a replica that the log has.
struct LoggedTrouble {
  bool lost = false;
  std::string fault;  // The reason of the newest failed optional page.
};

struct WatchedReplica {
  WatchedReplica(EventLoop& loop, ReplicaId the_id, ReplicaConfig the_config);

  // Without it, the replica is never reached.
  absl::Status Connect(EventLoop& loop, const std::string& url);
  UpstreamPool::Options PoolOptions() const;
  // The way of the loops to this rank of its engine, without the facts of the fleet.
  EngineAccess Access(const FleetEntry& rank) const;
  bool stopped() const { return work.cut(); }
  // Leaves the loops a note of the health and the sleep of now.
  void Note(Health seen) const;
  // Its connection would be another one now.
  bool Differs(const ReplicaConfig& other) const {
    return config.key != other.key || config.engine != other.engine || config.tls != other.tls;
  }

  const ReplicaId id;
  const ReplicaConfig config;  // As the watch began; its memory and its drain may have changed since.
  std::optional<UpstreamAddress> address;
  TlsContext::Pointer tls;
  // Both shared with the reading or the poll that is under way.
  std::shared_ptr<UpstreamPool> pool;
  std::shared_ptr<EngineScraper> scraper;
  HealthTracker health;
  std::shared_ptr<Sleeper> sleeper;  // Null: it never sleeps.
  ToldHealth told;
  std::shared_ptr<EngineNotes> notes = std::make_shared<EngineNotes>();
  boost::asio::steady_timer pause;
  bool discovered = false;  // Since it was last lost.
  Rereading rereading;
  LoggedTrouble logged;
  CutOff work;  // Its watch, and what runs beside it.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_FLEET_WATCHED_REPLICA_H_
