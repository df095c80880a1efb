#include "router/telemetry/edge_metrics.h"

#include "router/telemetry/realtime_metrics.h"

namespace penstock {
namespace {

const MetricRegistry::Buckets kDecisionBuckets = {1e-6, 2e-6, 3e-6, 5e-6, 7.5e-6, 1e-5, 1.5e-5, 2e-5,
                                                  3e-5, 5e-5, 1e-4, 2e-4, 5e-4,   1e-3, 1e-2};

template <size_t N>
void AddAll(MetricRegistry& registry, const Metric& metric, const std::array<absl::string_view, N>& values,
            std::array<prometheus::Counter*, N>& series) {
  for (size_t i = 0; i < N; ++i) {
    series[i] = &registry.Counter(metric, {{std::string(metric.labels), std::string(values[i])}});
  }
}

}  // namespace

StoreMetrics::StoreMetrics(MetricRegistry& registry)
    : files(registry.Gauge(MetricNamed("penstock_job_files"))),
      bytes(registry.Gauge(MetricNamed("penstock_job_file_bytes"))),
      open_batches(registry.Gauge(MetricNamed("penstock_job_open_batches"))) {
  // Only faults of the store count; the others are answers to clients.
  for (size_t i = 0; i < faults.size(); ++i) {
    if (!jobs::IsFaultOfStore(static_cast<jobs::JobErrorKind>(i))) continue;
    faults[i] = &registry.Counter(MetricNamed("penstock_job_store_faults_total"),
                                  {{"kind", std::string(jobs::kJobErrorLabels[i])}});
  }
}

RealtimeMetrics::RealtimeMetrics(MetricRegistry& registry)
    : open_(registry.Gauge(MetricNamed("penstock_realtime_open"))),
      to_engine_(registry.Counter(MetricNamed("penstock_realtime_bytes_total"), {{"to", "engine"}})),
      to_client_(registry.Counter(MetricNamed("penstock_realtime_bytes_total"), {{"to", "client"}})) {
  AddAll(registry, MetricNamed("penstock_realtime_total"), kRealtimeEndLabels, ends_);
}

void RealtimeMetrics::OnOpened() { open_.Increment(); }

void RealtimeMetrics::OnBytes(uint64_t to_engine, uint64_t to_client) {
  to_engine_.Increment(static_cast<double>(to_engine));
  to_client_.Increment(static_cast<double>(to_client));
}

void RealtimeMetrics::OnEnded(RealtimeEnd end) {
  open_.Decrement();
  ends_[static_cast<size_t>(end)]->Increment();
}

EdgeMetrics::EdgeMetrics(MetricRegistry& registry, const std::string& version)
    : decisions(registry.Histogram(MetricNamed("penstock_decision_seconds"), {}, kDecisionBuckets)),
      reloads_ok(registry.Counter(MetricNamed("penstock_config_reloads_total"), {{"result", "ok"}})),
      reloads_failed(registry.Counter(MetricNamed("penstock_config_reloads_total"), {{"result", "failed"}})),
      last_reload_ok(registry.Gauge(MetricNamed("penstock_config_last_reload_successful"))),
      last_reload_at(registry.Gauge(MetricNamed("penstock_config_last_reload_success_timestamp_seconds"))),
      restart_keys(registry.Gauge(MetricNamed("penstock_config_restart_keys"))),
      connections_accepted(registry.Counter(MetricNamed("penstock_connections_total"))),
      connections(registry.Gauge(MetricNamed("penstock_connections_open"))),
      buffered(registry.Gauge(MetricNamed("penstock_buffered_bytes"))),
      draining(registry.Gauge(MetricNamed("penstock_draining"))),
      store(registry) {
  AddAll(registry, MetricNamed("penstock_bad_input_total"), kBadInputLabels, bad_inputs);
  AddAll(registry, MetricNamed("penstock_resumes_total"), kResumeLabels, resumes);
  AddAll(registry, MetricNamed("penstock_merged_requests_total"), kMergeLabels, merged);
  AddAll(registry, MetricNamed("penstock_trace_spans_total"), kSpanEndLabels, spans);
  AddAll(registry, MetricNamed("penstock_turned_away_total"), kTurnedAwayLabels, turned_away);
  AddAll(registry, MetricNamed("penstock_http2_total"), kHttp2EventLabels, http2);
  for (size_t i = 0; i < fills.size(); ++i) {
    fills[i] = &registry.Gauge(MetricNamed("penstock_fill_ratio"), {{"of", std::string(kBoundedLabels[i])}});
  }
  registry.Gauge(MetricNamed("penstock_build_info"), {{"version", version}, {"compiler", __VERSION__}}).Set(1);
}

}  // namespace penstock
