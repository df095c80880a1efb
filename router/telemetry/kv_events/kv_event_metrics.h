// Metrics about the events of engines' caches, by replica. Not thread-safe; used by the thread that reads the events.
#ifndef PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_

#include <string>

#include "router/kv_events/cache_follower.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

class KvEventMetrics {
 public:
  // `registry` outlives it.
  explicit KvEventMetrics(MetricRegistry& registry) : registry_(registry) {}

  // Adds what a follower counted since `before`.
  void Add(const std::string& replica, const FollowerCounts& before, const FollowerCounts& now);
  // Nobody follows the replica any more.
  void Leave(const std::string& replica);
  // Requests that were not seen: they are matched to nothing.
  void OnMissedRequests(int64_t requests);

 private:
  MetricRegistry& registry_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_KV_EVENTS_KV_EVENT_METRICS_H_
