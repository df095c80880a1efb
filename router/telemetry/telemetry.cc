#include "router/telemetry/telemetry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "router/core/refusal.h"
#include "router/telemetry/view_metrics.h"

namespace penstock {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

const Buckets kWaitBuckets = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 600};
const Buckets kTtftBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300};
const Buckets kTpotBuckets = {0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04,
                              0.05,  0.075,  0.1,   0.15, 0.25,  0.5,  1,    2};
const Buckets kTotalBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280};
const Buckets kDecisionBuckets = {1e-6, 2e-6, 3e-6, 5e-6, 7.5e-6, 1e-5, 1.5e-5, 2e-5,
                                  3e-5, 5e-5, 1e-4, 2e-4, 5e-4,   1e-3, 1e-2};
const Buckets kRatioBuckets = {0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 1.01, 1.03, 1.05, 1.1, 1.25, 1.5, 2, 4};

constexpr int kOther = 0;
constexpr int kNone = 1;

// A growing, bounded set of label values. Position 0 stands for everything that is not in it.
class Names {
 public:
  Names() : names_{"other", "none"} {}
  void Add(const std::string& name, size_t limit) {
    if (name.empty() || names_.size() >= limit + 2) return;
    if (positions_.try_emplace(name, static_cast<int>(names_.size())).second) names_.push_back(name);
  }
  int Find(absl::string_view name) const {
    if (name.empty()) return kNone;
    const auto found = positions_.find(name);
    return found == positions_.end() ? kOther : found->second;
  }
  const std::string& operator[](int position) const { return names_[position]; }

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, int> positions_;
};

template <size_t N>
int PositionIn(const std::array<absl::string_view, N>& labels, absl::string_view label) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  return found == labels.end() ? static_cast<int>(N) - 1 : static_cast<int>(found - labels.begin());
}

std::string Text(absl::string_view view) { return std::string(view.data(), view.size()); }

void Observe(Histogram* histogram, const std::optional<Duration>& value) {
  if (value) histogram->Observe(std::max(0.0, value->seconds()));
}

void Add(Counter* counter, int64_t amount) {
  if (amount > 0) counter->Increment(static_cast<double>(amount));
}

struct TenantSeries {
  std::array<Counter*, kRequestOutcomeLabels.size()> outcomes{};
  Counter* prompt = nullptr;
  Counter* output = nullptr;
  Counter* active = nullptr;
};

// The series of one (endpoint, model, class); all but `outcomes` are shared by the endpoints.
struct RequestSeries {
  std::array<Counter*, kRequestOutcomeLabels.size()> outcomes{};
  std::array<Counter*, kRefusalCount> refusals{};
  Counter* prompt = nullptr;
  Counter* output = nullptr;
  Counter* active = nullptr;
  Counter* late = nullptr;
  Counter* abandoned = nullptr;
  Histogram* wait = nullptr;
  Histogram* ttft = nullptr;
  Histogram* tpot = nullptr;
  Histogram* total = nullptr;
  Histogram* prompt_ratio = nullptr;
};

}  // namespace

struct Telemetry::State {
  using CounterFamily = prometheus::Family<Counter>;
  using HistogramFamily = prometheus::Family<Histogram>;

  explicit State(const TelemetryOptions& given) : options(given) {
    for (size_t kind = 0; kind < bad_inputs.size(); ++kind) {
      bad_inputs[kind] = &bad_input.Add({{"kind", Text(kBadInputLabels[kind])}});
    }
    for (size_t limit = 0; limit < turned_away.size(); ++limit) {
      turned_away[limit] = &turned.Add({{"limit", Text(kTurnedAwayLabels[limit])}});
    }
    for (size_t what = 0; what < fills.size(); ++what) fills[what] = &fill.Add({{"of", Text(kBoundedLabels[what])}});
    for (size_t result = 0; result < resumes.size(); ++result) {
      resumes[result] = &resumed.Add({{"result", Text(kResumeLabels[result])}});
    }
    build.Add({{"version", options.version}, {"compiler", __VERSION__}}).Set(1);
  }

  CounterFamily& NewCounter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  HistogramFamily& NewHistogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<Gauge>& NewGauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }

  RequestSeries MakeRequestSeries(int endpoint, int model, int priority);
  TenantSeries MakeTenantSeries(const std::string& tenant);
  RequestSeries* SeriesOf(const RequestRecord& record);
  TenantSeries* TenantOf(const RequestRecord& record);
  Counter* ReplicaOf(const RequestRecord& record);
  Counter* ResponseOf(int status);
  std::string ReplicaLabel(absl::string_view replica) const;

  TelemetryOptions options;
  prometheus::Registry registry;
  CounterFamily& requests = NewCounter("penstock_requests_total", "Requests that ended, by outcome");
  CounterFamily& refusals = NewCounter("penstock_refusals_total", "Requests that the router refused, by reason");
  CounterFamily& responses =
      NewCounter("penstock_responses_total", "Answers by HTTP status; 499: the client left first");
  CounterFamily& prompt_tokens = NewCounter("penstock_prompt_tokens_total", "Prompt tokens by the engines' count");
  CounterFamily& output_tokens = NewCounter("penstock_output_tokens_total", "Generated tokens by the engines' count");
  CounterFamily& active_tokens =
      NewCounter("penstock_active_tokens_total",
                 "Tokens that reached their client by their due time, of requests that ended well");
  CounterFamily& late_tokens =
      NewCounter("penstock_late_tokens_total", "Tokens that reached their client late, of requests that ended well");
  CounterFamily& abandoned_tokens =
      NewCounter("penstock_abandoned_tokens_total", "Tokens of requests that did not end well");
  HistogramFamily& wait = NewHistogram("penstock_queue_wait_seconds", "Time from arrival to being forwarded");
  HistogramFamily& ttft =
      NewHistogram("penstock_time_to_first_token_seconds", "Time from arrival to the first token at the client");
  HistogramFamily& tpot = NewHistogram("penstock_time_per_output_token_seconds",
                                       "Mean time between the tokens of a request after its first");
  HistogramFamily& total = NewHistogram("penstock_request_duration_seconds", "Time from arrival to the last byte");
  HistogramFamily& prompt_ratio =
      NewHistogram("penstock_prompt_estimate_ratio", "Estimated over counted prompt tokens of finished requests");
  HistogramFamily& decision = NewHistogram("penstock_decision_seconds", "Time inside one call of the decision core");
  CounterFamily& tenant_requests = NewCounter("penstock_tenant_requests_total", "Requests of configured tenants");
  CounterFamily& tenant_tokens = NewCounter("penstock_tenant_tokens_total", "Tokens of configured tenants, by kind");
  CounterFamily& replica_requests = NewCounter("penstock_replica_requests_total", "Requests that ended on a replica");
  CounterFamily& engine_errors = NewCounter("penstock_engine_errors_total", "Failures of engines, by kind");
  CounterFamily& engine_polls = NewCounter("penstock_engine_polls_total", "Observations of engines, by result");
  CounterFamily& bad_input = NewCounter("penstock_bad_input_total", "Malformed or impossible client input, by kind");
  CounterFamily& turned =
      NewCounter("penstock_turned_away_total", "Connections and requests refused at the door, by the limit reached");
  prometheus::Family<Gauge>& fill = NewGauge("penstock_fill_ratio", "How much of a limit is in use; 1: full");
  CounterFamily& resumed =
      NewCounter("penstock_resumes_total",
                 "Answers whose engine failed after the client had part of them, by what became of them");
  CounterFamily& reloads = NewCounter("penstock_config_reloads_total", "Configuration reloads, by result");
  prometheus::Family<Gauge>& build = NewGauge("penstock_build_info", "Always 1; what is running");
  Histogram& decisions = decision.Add({}, kDecisionBuckets);
  Counter& reloads_ok = reloads.Add({{"result", "ok"}});
  Counter& reloads_failed = reloads.Add({{"result", "failed"}});
  Gauge& last_reload_ok =
      NewGauge("penstock_config_last_reload_successful", "1 when the newest configuration is in force").Add({});
  Gauge& last_reload_at =
      NewGauge("penstock_config_last_reload_success_timestamp_seconds", "When the configuration in force was loaded")
          .Add({});
  Counter& connections_accepted =
      NewCounter("penstock_connections_total", "Client connections accepted since start").Add({});
  Gauge& connections = NewGauge("penstock_connections_open", "Client connections open").Add({});
  Gauge& buffered = NewGauge("penstock_buffered_bytes", "Bytes of request and answer bodies held in memory").Add({});
  Gauge& draining = NewGauge("penstock_draining", "1 once the router drains before its end").Add({});
  std::array<Counter*, kBadInputLabels.size()> bad_inputs{};
  std::array<Counter*, kResumeLabels.size()> resumes{};
  std::array<Counter*, kTurnedAwayLabels.size()> turned_away{};
  std::array<Gauge*, kBoundedLabels.size()> fills{};

  // Guards everything below; held for lookups only. (The packaged absl::Mutex is opaque to the thread sanitizer.)
  mutable std::shared_mutex mutex;
  Names models;
  Names classes;
  Names replicas;
  Names tenants;
  bool has_tenants = false;
  std::map<std::string, Tokens> block_of_pool;
  // Series stay where they are once made: prometheus keeps them until the registry goes.
  absl::flat_hash_map<std::tuple<int, int, int>, std::unique_ptr<RequestSeries>> request_series;
  absl::flat_hash_map<int, std::unique_ptr<TenantSeries>> tenant_series;
  absl::flat_hash_map<std::pair<int, int>, Counter*> replica_series;
  absl::flat_hash_map<int, Counter*> response_series;
};

RequestSeries Telemetry::State::MakeRequestSeries(int endpoint, int model, int priority) {
  const prometheus::Labels lane = {{"model", models[model]}, {"class", classes[priority]}};
  RequestSeries series;
  for (size_t i = 0; i < series.outcomes.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("endpoint", Text(kEndpointLabels[endpoint]));
    labels.emplace("outcome", Text(kRequestOutcomeLabels[i]));
    series.outcomes[i] = &requests.Add(labels);
  }
  for (size_t i = 0; i < series.refusals.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("reason", Text(kRefusals[i].label));
    series.refusals[i] = &refusals.Add(labels);
  }
  series.prompt = &prompt_tokens.Add(lane);
  series.output = &output_tokens.Add(lane);
  series.active = &active_tokens.Add(lane);
  series.late = &late_tokens.Add(lane);
  series.abandoned = &abandoned_tokens.Add(lane);
  series.wait = &wait.Add(lane, kWaitBuckets);
  series.ttft = &ttft.Add(lane, kTtftBuckets);
  series.tpot = &tpot.Add(lane, kTpotBuckets);
  series.total = &total.Add(lane, kTotalBuckets);
  series.prompt_ratio = &prompt_ratio.Add({{"model", models[model]}}, kRatioBuckets);
  return series;
}

TenantSeries Telemetry::State::MakeTenantSeries(const std::string& tenant) {
  TenantSeries series;
  for (size_t i = 0; i < series.outcomes.size(); ++i) {
    series.outcomes[i] = &tenant_requests.Add({{"tenant", tenant}, {"outcome", Text(kRequestOutcomeLabels[i])}});
  }
  series.prompt = &tenant_tokens.Add({{"tenant", tenant}, {"kind", "prompt"}});
  series.output = &tenant_tokens.Add({{"tenant", tenant}, {"kind", "output"}});
  series.active = &tenant_tokens.Add({{"tenant", tenant}, {"kind", "active"}});
  return series;
}

RequestSeries* Telemetry::State::SeriesOf(const RequestRecord& record) {
  const int endpoint = PositionIn(kEndpointLabels, record.endpoint);
  std::tuple<int, int, int> key;
  {
    std::shared_lock lock(mutex);
    key = {endpoint, models.Find(record.model), classes.Find(record.priority)};
    const auto found = request_series.find(key);
    if (found != request_series.end()) return found->second.get();
  }
  std::unique_lock lock(mutex);
  std::unique_ptr<RequestSeries>& series = request_series[key];
  if (series == nullptr) {
    series = std::make_unique<RequestSeries>(MakeRequestSeries(endpoint, std::get<1>(key), std::get<2>(key)));
  }
  return series.get();
}

TenantSeries* Telemetry::State::TenantOf(const RequestRecord& record) {
  int tenant = kNone;
  {
    std::shared_lock lock(mutex);
    if (!has_tenants) return nullptr;
    tenant = tenants.Find(record.tenant);
    const auto found = tenant_series.find(tenant);
    if (found != tenant_series.end()) return found->second.get();
  }
  std::unique_lock lock(mutex);
  std::unique_ptr<TenantSeries>& series = tenant_series[tenant];
  if (series == nullptr) series = std::make_unique<TenantSeries>(MakeTenantSeries(tenants[tenant]));
  return series.get();
}

Counter* Telemetry::State::ReplicaOf(const RequestRecord& record) {
  const int outcome = static_cast<int>(record.outcome);
  std::pair<int, int> key;
  {
    std::shared_lock lock(mutex);
    key = {replicas.Find(record.replica), outcome};
    const auto found = replica_series.find(key);
    if (found != replica_series.end()) return found->second;
  }
  std::unique_lock lock(mutex);
  Counter*& counter = replica_series[key];
  if (counter == nullptr) {
    counter = &replica_requests.Add({{"replica", replicas[key.first]}, {"outcome", Text(LabelOf(record.outcome))}});
  }
  return counter;
}

Counter* Telemetry::State::ResponseOf(int status) {
  const int label = status >= 100 && status <= 599 ? status : 0;
  {
    std::shared_lock lock(mutex);
    const auto found = response_series.find(label);
    if (found != response_series.end()) return found->second;
  }
  std::unique_lock lock(mutex);
  Counter*& counter = response_series[label];
  if (counter == nullptr) counter = &responses.Add({{"status", label == 0 ? "other" : std::to_string(label)}});
  return counter;
}

std::string Telemetry::State::ReplicaLabel(absl::string_view replica) const {
  std::shared_lock lock(mutex);
  return replicas[replicas.Find(replica)];
}

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
  for (const ClassSpec& priority : fleet.classes) state_->classes.Add(priority.name, limit);
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
  state_->engine_errors.Add({{"replica", state_->ReplicaLabel(replica)}, {"kind", Text(LabelOf(kind))}}).Increment();
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
