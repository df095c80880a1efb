#include "router/telemetry/telemetry.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <sstream>
#include <utility>

#include "router/telemetry/batch_metrics.h"
#include "router/telemetry/edge_metrics.h"
#include "router/telemetry/engine_metrics.h"
#include "router/telemetry/gpu_metrics.h"
#include "router/telemetry/names/fleet_names.h"
#include "router/telemetry/process/process_figures.h"
#include "router/telemetry/realtime_metrics.h"
#include "router/telemetry/registry/metric_registry.h"
#include "router/telemetry/request_metrics.h"
#include "router/telemetry/shown_view.h"
#include "router/telemetry/view_metrics.h"

namespace penstock {
namespace {

void AddProcess(std::vector<prometheus::MetricFamily>& families) {
  const std::optional<ProcessFigures> figures = ReadProcessFigures();
  if (!figures) return;
  const auto add = [&families](const Metric& metric, double value) {
    prometheus::MetricFamily family = FamilyOf(metric);
    families.push_back(std::move(AddSample(family, {}, value)));
  };
  add(MetricNamed("process_cpu_seconds_total"), figures->cpu_seconds);
  add(MetricNamed("process_resident_memory_bytes"), figures->resident_bytes);
  add(MetricNamed("process_virtual_memory_bytes"), figures->virtual_bytes);
  add(MetricNamed("process_open_fds"), figures->open_descriptors);
  add(MetricNamed("process_max_fds"), figures->most_descriptors);
  add(MetricNamed("process_threads"), figures->threads);
  add(MetricNamed("process_start_time_seconds"), figures->started_at);
}

}  // namespace

struct Telemetry::State {
  explicit State(const TelemetryOptions& given)
      : options(given),
        names(given.max_names),
        requests(registry, names),
        edge(registry, given.version),
        engines(registry, names),
        batches(registry),
        realtime(registry),
        certificates(given.certificates) {}

  const TelemetryOptions options;
  MetricRegistry registry;
  FleetNames names;
  RequestMetrics requests;
  EdgeMetrics edge;
  EngineMetrics engines;
  BatchMetrics batches;
  RealtimeMetrics realtime;
  std::array<std::atomic<int64_t>, std::tuple_size_v<WastedTokens>> wasted{};
  mutable std::shared_mutex mutex;  // Guards the fields below.
  std::map<std::string, Tokens> block_of_pool;
  GoneParts gone;
  CertificateEnds certificates;
};

Telemetry::Telemetry(const TelemetryOptions& options) : state_(std::make_unique<State>(options)) {
  SetTenants(options.tenants);
  state_->edge.last_reload_ok.Set(1);
  state_->edge.last_reload_at.SetToCurrentTime();
}
Telemetry::~Telemetry() = default;

EngineMetrics& Telemetry::engines() { return state_->engines; }
BatchMetrics& Telemetry::batches() { return state_->batches; }
RealtimeMetrics& Telemetry::realtime() { return state_->realtime; }

void Telemetry::SetFleet(const Fleet& fleet) {
  state_->requests.SetFleet(fleet);
  for (const ReplicaSpec& replica : fleet.replicas) {
    if (!replica.removed) state_->engines.StartAtZero(replica);
  }
  GoneParts gone = GonePartsOf(fleet);
  std::unique_lock lock(state_->mutex);
  state_->gone = std::move(gone);
  state_->block_of_pool.clear();
  for (const ReplicaSpec& replica : fleet.replicas) {
    for (const PoolShare& share : replica.pools) {
      if (share.pool.value() >= fleet.pools.size()) continue;
      state_->block_of_pool[fleet.pools[share.pool.value()].name] = std::max(share.footprint.block, Tokens(1));
    }
  }
}

void Telemetry::SetTenants(const std::vector<std::string>& tenants) { state_->requests.SetTenants(tenants); }

StoreMetrics& Telemetry::store() { return state_->edge.store; }

void Telemetry::OnRequest(const RequestRecord& record) {
  state_->requests.OnRequest(record);
  const bool well = record.outcome == RequestOutcome::kOk;
  const int64_t waste = well ? record.late_tokens : record.abandoned_tokens;
  if (waste > 0) state_->wasted[static_cast<size_t>(record.outcome)].fetch_add(waste, std::memory_order_relaxed);
}

bool Telemetry::OnRefusal(int status, absl::string_view reason) { return state_->requests.OnRefusal(status, reason); }

WastedTokens Telemetry::Wasted() const {
  WastedTokens wasted{};
  for (size_t i = 0; i < wasted.size(); ++i) wasted[i] = state_->wasted[i].load(std::memory_order_relaxed);
  return wasted;
}

void Telemetry::OnDecision(Duration spent) { state_->edge.decisions.Observe(std::max(0.0, spent.seconds())); }

void Telemetry::OnBadInput(BadInput kind) { state_->edge.bad_inputs[static_cast<size_t>(kind)]->Increment(); }

void Telemetry::OnMerged(MergeEnd end, size_t requests) {
  state_->edge.merged[static_cast<size_t>(end)]->Increment(static_cast<double>(requests));
}

void Telemetry::OnResume(ResumeResult result) { state_->edge.resumes[static_cast<size_t>(result)]->Increment(); }

void Telemetry::OnConfigReload(bool ok, CertificateEnds certificates, size_t restart_keys) {
  EdgeMetrics& edge = state_->edge;
  (ok ? edge.reloads_ok : edge.reloads_failed).Increment();
  edge.last_reload_ok.Set(ok ? 1 : 0);
  if (!ok) return;
  edge.last_reload_at.SetToCurrentTime();
  edge.restart_keys.Set(static_cast<double>(restart_keys));
  std::unique_lock lock(state_->mutex);
  state_->certificates = std::move(certificates);
}

void Telemetry::OnSpans(SpanEnd end, size_t spans) {
  state_->edge.spans[static_cast<size_t>(end)]->Increment(static_cast<double>(spans));
}

void Telemetry::OnTurnedAway(TurnedAway limit) { state_->edge.turned_away[static_cast<size_t>(limit)]->Increment(); }

void Telemetry::SetFill(Bounded what, double ratio) { state_->edge.fills[static_cast<size_t>(what)]->Set(ratio); }

void Telemetry::OnConnection(bool opened) {
  if (opened) state_->edge.connections_accepted.Increment();
  state_->edge.connections.Increment(opened ? 1 : -1);
}

void Telemetry::OnHttp2(Http2Event event) { state_->edge.http2[static_cast<size_t>(event)]->Increment(); }

void Telemetry::AddBufferedBytes(int64_t delta) { state_->edge.buffered.Increment(static_cast<double>(delta)); }

void Telemetry::SetDraining(bool draining) { state_->edge.draining.Set(draining ? 1 : 0); }

CoreView Telemetry::Shown(const CoreView& view) const {
  std::shared_lock lock(state_->mutex);
  return ShownOf(view, state_->gone);
}

std::string Telemetry::Serialise(const CoreView& view, int64_t log_lines_dropped, const GpuReport& gpus) const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  {
    std::shared_lock lock(state_->mutex);
    std::vector<prometheus::MetricFamily> core =
        ViewMetrics(ShownOf(view, state_->gone), state_->block_of_pool, state_->options.stale_after);
    std::move(core.begin(), core.end(), std::back_inserter(families));
    prometheus::MetricFamily expiry = FamilyOf(MetricNamed("penstock_tls_certificate_expiry_seconds"));
    for (const auto& [listener, end] : state_->certificates) AddSample(expiry, {{"listener", listener}}, end);
    families.push_back(std::move(expiry));
  }
  std::vector<prometheus::MetricFamily> time = GpuMetrics(gpus, Wasted());
  std::move(time.begin(), time.end(), std::back_inserter(families));
  prometheus::MetricFamily dropped = FamilyOf(MetricNamed("penstock_log_lines_dropped_total"));
  families.push_back(AddSample(dropped, {}, static_cast<double>(log_lines_dropped)));
  prometheus::MetricFamily available = FamilyOf(MetricNamed("penstock_tenant_available_tokens"));
  for (const TenantView& tenant : view.tenants) {
    AddSample(available, {{"tenant", tenant.name}}, tenant.available.AsDouble());
  }
  families.push_back(std::move(available));
  prometheus::MetricFamily weight = FamilyOf(MetricNamed("penstock_tenant_weight"));
  prometheus::MetricFamily service = FamilyOf(MetricNamed("penstock_tenant_service"));
  prometheus::MetricFamily lead = FamilyOf(MetricNamed("penstock_tenant_lead"));
  for (const ShareView& share : view.shares) {
    AddSample(weight, {{"tenant", share.name}}, share.weight);
    AddSample(service, {{"tenant", share.name}}, share.service);
    AddSample(lead, {{"tenant", share.name}}, share.ahead);
  }
  for (prometheus::MetricFamily* family : {&weight, &service, &lead}) families.push_back(std::move(*family));
  AddProcess(families);
  std::erase_if(families, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

std::string LoopMetricsText(const std::vector<const TurnMeter*>& loops, Instant now) {
  prometheus::MetricFamily longest = FamilyOf(MetricNamed("penstock_loop_longest_turn_seconds"));
  prometheus::MetricFamily long_turns = FamilyOf(MetricNamed("penstock_loop_long_turns_total"));
  for (size_t i = 0; i < loops.size(); ++i) {
    const std::string loop = std::to_string(i);
    AddSample(longest, {{"loop", loop}}, loops[i]->Longest(now).seconds());
    AddSample(long_turns, {{"loop", loop}}, static_cast<double>(loops[i]->long_turns()));
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, {longest, long_turns});
  return text.str();
}

}  // namespace penstock
