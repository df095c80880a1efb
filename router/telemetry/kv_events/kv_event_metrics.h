// Metrics about the events of engines' caches, by replica. Not thread-safe; used by the thread that reads the events.
// A replica whose name has left the fleet counts no more.
#ifndef PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_

#include <string>

#include "router/kv_events/cache_follower.h"
#include "router/telemetry/names/fleet_names.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

class KvEventMetrics {
 public:
  // Both outlive it.
  KvEventMetrics(MetricRegistry& registry, const FleetNames& names) : registry_(registry), names_(names) {}

  // Adds what a follower counted since `before`.
  void Add(const std::string& replica, const FollowerCounts& before, const FollowerCounts& now);
  // Nobody follows the replica any more.
  void Leave(const std::string& replica);
  // Requests that were not seen: they are matched to nothing.
  void OnMissedRequests(int64_t requests);

 private:
  MetricRegistry& registry_;
  const FleetNames& names_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_
