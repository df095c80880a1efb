// Metrics about the first stages of requests on pairs, by prefill replica. Thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_HANDOVERS_HANDOVER_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_HANDOVERS_HANDOVER_METRICS_H_

#include <string>

#include "base/units.h"
#include "router/labels/labels.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

class HandoverMetrics {
 public:
  // `registry` outlives it.
  explicit HandoverMetrics(MetricRegistry& registry) : registry_(registry) {}

  // The replica is one for prompts.
  void StartAtZero(const std::string& replica);
  // A first stage ended, so long after it began.
  void OnEnd(const std::string& replica, HandoverEnd end, Duration took);

 private:
  MetricRegistry& registry_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_HANDOVERS_HANDOVER_METRICS_H_
