#include "router/telemetry/telemetry.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "router/telemetry/telemetry_state.h"
#include "router/telemetry/view_metrics.h"

namespace penstock {
namespace {

using prometheus::Counter;
using prometheus::Histogram;

void Observe(Histogram* histogram, const std::optional<Duration>& value) {
  if (value) histogram->Observe(std::max(0.0, value->seconds()));
}

void Add(Counter* counter, int64_t amount) {
  if (amount > 0) counter->Increment(static_cast<double>(amount));
}

}  // namespace

Telemetry::Telemetry(const TelemetryOptions& options) : state_(std::make_unique<State>(options)) {
  SetTenants(options.tenants);
  state_->last_reload_ok.Set(1);
  state_->last_reload_at.SetToCurrentTime();
}
Telemetry::~Telemetry() = default;

void Telemetry::SetFleet(const Fleet& fleet) {
  std::unique_lock lock(state_->mutex);
  const size_t limit = state_->options.max_names;
  for (const ModelSpec& model : fleet.models) state_->models.Add(model.name, limit);
  for (const ClassSpec& service_class : fleet.classes) state_->classes.Add(service_class.name, limit);
  for (const ReplicaSpec& replica : fleet.replicas) {
    state_->replicas.Add(replica.name, limit);
    for (const PoolShare& share : replica.pools) {
      if (share.pool.value() >= fleet.pools.size()) continue;
      state_->block_of_pool[fleet.pools[share.pool.value()].name] = std::max(share.footprint.block, Tokens(1));
    }
  }
}

void Telemetry::SetTenants(const std::vector<std::string>& tenants) {
  std::unique_lock lock(state_->mutex);
  state_->has_tenants = !tenants.empty();
  for (const std::string& tenant : tenants) state_->tenants.Add(tenant, state_->options.max_names);
}

void Telemetry::OnRequest(const RequestRecord& record) {
  RequestSeries* series = state_->SeriesOf(record);
  series->outcomes[static_cast<size_t>(record.outcome)]->Increment();
  if (record.outcome == RequestOutcome::kRefused) {
    const auto row = std::find_if(kRefusals.begin(), kRefusals.end(),
                                  [&](const RefusalTraits& traits) { return traits.label == record.reason; });
    if (row != kRefusals.end()) series->refusals[static_cast<size_t>(row->refusal)]->Increment();
  }
  state_->ResponseOf(record.status)->Increment();
  Add(series->prompt, record.prompt.value());
  Add(series->output, record.output.value());
  Add(series->active, record.active_tokens);
  Add(series->late, record.late_tokens);
  Add(series->abandoned, record.abandoned_tokens);
  Observe(series->wait, record.queue_wait);
  Observe(series->ttft, record.ttft);
  Observe(series->tpot, record.tpot);
  Observe(series->total, record.total);
  if (record.prompt > Tokens(0) && record.prompt_estimate > Tokens(0)) {
    series->prompt_ratio->Observe(record.prompt_estimate.AsDouble() / record.prompt.AsDouble());
  }
  if (!record.replica.empty()) state_->ReplicaOf(record)->Increment();
  if (TenantSeries* tenant = state_->TenantOf(record)) {
    tenant->outcomes[static_cast<size_t>(record.outcome)]->Increment();
    Add(tenant->prompt, record.prompt.value());
    Add(tenant->output, record.output.value());
    Add(tenant->active, record.active_tokens);
  }
}

void Telemetry::OnDecision(Duration spent) { state_->decisions.Observe(std::max(0.0, spent.seconds())); }

void Telemetry::OnBadInput(BadInput kind) { state_->bad_inputs[static_cast<size_t>(kind)]->Increment(); }

void Telemetry::OnEngineError(absl::string_view replica, EngineErrorKind kind) {
  state_->engine_errors.Add({{"replica", state_->ReplicaLabel(replica)}, {"kind", std::string(LabelOf(kind))}})
      .Increment();
}

void Telemetry::OnResume(ResumeResult result) { state_->resumes[static_cast<size_t>(result)]->Increment(); }

void Telemetry::OnEnginePoll(absl::string_view replica, bool ok) {
  state_->engine_polls.Add({{"replica", state_->ReplicaLabel(replica)}, {"result", ok ? "ok" : "failed"}}).Increment();
}

void Telemetry::OnConfigReload(bool ok) {
  (ok ? state_->reloads_ok : state_->reloads_failed).Increment();
  state_->last_reload_ok.Set(ok ? 1 : 0);
  if (ok) state_->last_reload_at.SetToCurrentTime();
}

void Telemetry::OnTurnedAway(TurnedAway limit) { state_->turned_away[static_cast<size_t>(limit)]->Increment(); }

void Telemetry::SetFill(Bounded what, double ratio) { state_->fills[static_cast<size_t>(what)]->Set(ratio); }

void Telemetry::OnConnectionOpened() {
  state_->connections_accepted.Increment();
  state_->connections.Increment();
}

void Telemetry::OnConnectionClosed() { state_->connections.Decrement(); }

void Telemetry::AddBufferedBytes(int64_t delta) { state_->buffered.Increment(static_cast<double>(delta)); }

void Telemetry::SetDraining(bool draining) { state_->draining.Set(draining ? 1 : 0); }

std::string Telemetry::Serialise(const CoreView& view, int64_t log_lines_dropped,
                                 const std::vector<TenantAvailable>& tenants) const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  {
    std::shared_lock lock(state_->mutex);
    std::vector<prometheus::MetricFamily> core = ViewMetrics(view, state_->block_of_pool, state_->options.stale_after);
    std::move(core.begin(), core.end(), std::back_inserter(families));
  }
  prometheus::MetricFamily dropped;
  dropped.name = "penstock_log_lines_dropped_total";
  dropped.help = "Decision log lines lost to a full queue or a failed write";
  dropped.type = prometheus::MetricType::Counter;
  families.push_back(AddSample(dropped, {}, static_cast<double>(log_lines_dropped)));
  prometheus::MetricFamily available;
  available.name = "penstock_tenant_available_tokens";
  available.help = "Tokens that a tenant's limit leaves it now; negative: overdrawn";
  available.type = prometheus::MetricType::Gauge;
  for (const TenantAvailable& one : tenants) {
    AddSample(available, {{"tenant", one.tenant}}, one.tokens.AsDouble());
  }
  families.push_back(std::move(available));
  std::erase_if(families, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace penstock
