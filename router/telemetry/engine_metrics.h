// Metrics about engines, by replica: errors, polls, readings of facts, sleeps, adapters, elastic memory; and about the
// exporters of nodes. Thread-safe.
#ifndef PENSTOCK_ROUTER_TELEMETRY_ENGINE_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_ENGINE_METRICS_H_

#include "absl/strings/string_view.h"
#include "base/units.h"
#include "router/core/contract/fleet.h"
#include "router/labels/labels.h"
#include "router/telemetry/handovers/handover_metrics.h"
#include "router/telemetry/kv_events/kv_event_metrics.h"
#include "router/telemetry/names/fleet_names.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

class EngineMetrics {
 public:
  // Both outlive it.
  EngineMetrics(MetricRegistry& registry, const FleetNames& names)
      : registry_(registry), names_(names), kv_events_(registry, names), handovers_(registry) {}

  // A counter that nobody has seen at zero misses its first increase.
  void StartAtZero(const ReplicaSpec& replica);
  // The replica is to sleep, although its engine may be unable to.
  void StartSleepsAtZero(absl::string_view replica);

  void OnError(absl::string_view replica, EngineErrorKind kind);
  // An engine reported a count of tokens that is impossible.
  void OnFalseUsage(absl::string_view replica);
  // One scrape of an engine.
  void OnPoll(absl::string_view replica, bool ok);
  // Another reading of the models and limits of a running engine.
  void OnReread(absl::string_view replica, Reread result);
  // A sleep or a wake ended.
  void OnSleepEnd(absl::string_view replica, SleepResult result);
  // The engine says that it sleeps, and answers.
  void OnFalseSleep(absl::string_view replica);
  void OnAdapterLoad(absl::string_view replica, SleepResult result, Duration took);
  void OnWakeEnd(absl::string_view replica, SleepResult result, Duration took);
  // A reading or writing of an engine's kvcached segment ended.
  void OnSegment(absl::string_view replica, bool write, SegmentResult result);
  // Nobody reads the exporter any more: its series end.
  void OnNodeLeft(const std::string& node, absl::string_view exporter);
  // One reading of an exporter of a node ended. `stale`: its samples have no effect.
  void OnNodeScrape(const std::string& node, absl::string_view exporter, NodeScrape result, bool stale);
  // The first stage of a request on a pair ended, so long after it began.
  void OnHandover(absl::string_view replica, HandoverEnd end, Duration took) {
    const auto lock = names_.Reading();
    handovers_.OnEnd(names_.ReplicaLabel(replica), end, took);
  }
  // For the thread that reads the events of caches.
  KvEventMetrics& kv_events() { return kv_events_; }

 private:
  // Under a lock of the names.
  void SleepsAtZero(absl::string_view replica);

  MetricRegistry& registry_;
  const FleetNames& names_;
  KvEventMetrics kv_events_;
  HandoverMetrics handovers_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_ENGINE_METRICS_H_
