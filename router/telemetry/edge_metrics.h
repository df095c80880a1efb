// The metrics of the edge that have fixed labels: connections, bounds, bad input, reloads, decision time.
//
// Every series exists from the start, so counters begin at zero. Thread-safe: each series is atomic. Private to
// router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_EDGE_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_EDGE_METRICS_H_

#include <array>
#include <string>

#include "router/jobs/store/job_error.h"
#include "router/jobs/store/job_values.h"
#include "router/labels/labels.h"
#include "router/telemetry/registry/metric_registry.h"

namespace penstock {

// Metrics of the job store. A position in `faults` is that of a JobErrorKind.
struct StoreMetrics {
  explicit StoreMetrics(MetricRegistry& registry);

  // A call of the store failed by no fault of a client.
  void OnFault(jobs::JobErrorKind kind) { faults[static_cast<size_t>(kind)]->Increment(); }
  void SetUse(const jobs::StoreUse& use) {
    files.Set(static_cast<double>(use.files));
    bytes.Set(use.bytes.AsDouble());
    open_batches.Set(static_cast<double>(use.open_batches));
  }

  prometheus::Gauge& files;
  prometheus::Gauge& bytes;
  prometheus::Gauge& open_batches;
  std::array<prometheus::Counter*, jobs::kJobErrorKindCount> faults{};
};

struct EdgeMetrics {
  // `registry` must outlive it.
  EdgeMetrics(MetricRegistry& registry, const std::string& version);

  prometheus::Histogram& decisions;
  prometheus::Counter& reloads_ok;
  prometheus::Counter& reloads_failed;
  prometheus::Gauge& last_reload_ok;
  prometheus::Gauge& last_reload_at;
  prometheus::Gauge& restart_keys;
  prometheus::Counter& connections_accepted;
  prometheus::Gauge& connections;
  prometheus::Gauge& buffered;
  prometheus::Gauge& draining;
  StoreMetrics store;
  // Series at the position of their label.
  std::array<prometheus::Counter*, kBadInputLabels.size()> bad_inputs{};
  std::array<prometheus::Counter*, kResumeLabels.size()> resumes{};
  std::array<prometheus::Counter*, kMergeLabels.size()> merged{};
  std::array<prometheus::Counter*, kSpanEndLabels.size()> spans{};
  std::array<prometheus::Counter*, kTurnedAwayLabels.size()> turned_away{};
  std::array<prometheus::Counter*, kHttp2EventLabels.size()> http2{};
  std::array<prometheus::Gauge*, kBoundedLabels.size()> fills{};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_EDGE_METRICS_H_
