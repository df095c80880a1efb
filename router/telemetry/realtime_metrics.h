// Metrics about WebSockets. Thread-safe: each series is atomic.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REALTIME_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_REALTIME_METRICS_H_

#include <array>
#include <cstdint>

#include "router/labels/labels.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

class RealtimeMetrics {
 public:
  // `registry` must outlive it.
  explicit RealtimeMetrics(MetricRegistry& registry);

  void OnOpened();
  // Bytes passed to the engine, and to the client.
  void OnBytes(uint64_t to_engine, uint64_t to_client);
  void OnEnded(RealtimeEnd end);

 private:
  prometheus::Gauge& open_;
  prometheus::Counter& to_engine_;
  prometheus::Counter& to_client_;
  std::array<prometheus::Counter*, kRealtimeEndLabels.size()> ends_{};  // At the position of their label.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REALTIME_METRICS_H_
