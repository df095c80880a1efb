#include "router/telemetry/request_metrics.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace penstock {
namespace {

using prometheus::Histogram;
using Buckets = MetricRegistry::Buckets;

const Buckets kWaitBuckets = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 600};
const Buckets kTtftBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300};
const Buckets kTpotBuckets = {0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04,
                              0.05,  0.075,  0.1,   0.15, 0.25,  0.5,  1,    2};
const Buckets kTotalBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280};
const Buckets kRatioBuckets = {0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 1.01, 1.03, 1.05, 1.1, 1.25, 1.5, 2, 4};

template <size_t N>
int PositionIn(const std::array<absl::string_view, N>& labels, absl::string_view label) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  return found == labels.end() ? static_cast<int>(N) - 1 : static_cast<int>(found - labels.begin());
}

void Observe(Histogram* histogram, const std::optional<Duration>& value) {
  if (value) histogram->Observe(std::max(0.0, value->seconds()));
}

void Add(prometheus::Counter* counter, int64_t amount) {
  if (amount > 0) counter->Increment(static_cast<double>(amount));
}

}  // namespace

void RequestMetrics::SetFleet(const Fleet& fleet) {
  std::unique_lock lock(mutex_);
  for (const ModelSpec& model : fleet.models) models_.Add(model.name, max_names_);
  for (const ClassSpec& service_class : fleet.classes) classes_.Add(service_class.name, max_names_);
  for (const ReplicaSpec& replica : fleet.replicas) replicas_.Add(replica.name, max_names_);
}

void RequestMetrics::SetTenants(const std::vector<std::string>& tenants) {
  std::unique_lock lock(mutex_);
  has_tenants_ = !tenants.empty();
  for (const std::string& tenant : tenants) tenants_.Add(tenant, max_names_);
}

std::string RequestMetrics::ReplicaLabel(absl::string_view replica) const {
  std::shared_lock lock(mutex_);
  return replicas_[replicas_.Find(replica)];
}

void RequestMetrics::OnRequest(const RequestRecord& record) {
  Count(*SeriesOf(record), record);
  ResponseOf(record.status)->Increment();
  if (!record.replica.empty()) ReplicaOf(record)->Increment();
  if (TenantSeries* tenant = TenantOf(record)) {
    tenant->outcomes[static_cast<size_t>(record.outcome)]->Increment();
    Add(tenant->prompt, record.prompt.value());
    Add(tenant->output, record.output.value());
    Add(tenant->active, record.active_tokens);
  }
}

void RequestMetrics::Count(const RequestSeries& series, const RequestRecord& record) {
  series.outcomes[static_cast<size_t>(record.outcome)]->Increment();
  if (record.outcome == RequestOutcome::kRefused) {
    const auto row = std::find_if(kRefusals.begin(), kRefusals.end(),
                                  [&](const RefusalTraits& traits) { return traits.label == record.reason; });
    if (row != kRefusals.end()) series.refusals[static_cast<size_t>(row->refusal)]->Increment();
  }
  Add(series.prompt, record.prompt.value());
  Add(series.output, record.output.value());
  Add(series.active, record.active_tokens);
  Add(series.late, record.late_tokens);
  Add(series.abandoned, record.abandoned_tokens);
  Observe(series.wait, record.queue_wait);
  Observe(series.ttft, record.ttft);
  Observe(series.tpot, record.tpot);
  Observe(series.total, record.total);
  if (record.prompt > Tokens(0) && record.prompt_estimate > Tokens(0)) {
    series.prompt_ratio->Observe(record.prompt_estimate.AsDouble() / record.prompt.AsDouble());
  }
}

RequestMetrics::RequestSeries RequestMetrics::MakeRequestSeries(int endpoint, int model, int service_class) {
  const prometheus::Labels lane = {{"model", models_[model]}, {"class", classes_[service_class]}};
  RequestSeries series;
  for (size_t i = 0; i < series.outcomes.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("endpoint", std::string(kEndpointLabels[endpoint]));
    labels.emplace("outcome", std::string(kRequestOutcomeLabels[i]));
    series.outcomes[i] = &registry_.Counter(MetricNamed("penstock_requests_total"), labels);
  }
  for (size_t i = 0; i < series.refusals.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("reason", std::string(kRefusals[i].label));
    series.refusals[i] = &registry_.Counter(MetricNamed("penstock_refusals_total"), labels);
  }
  series.prompt = &registry_.Counter(MetricNamed("penstock_prompt_tokens_total"), lane);
  series.output = &registry_.Counter(MetricNamed("penstock_output_tokens_total"), lane);
  series.active = &registry_.Counter(MetricNamed("penstock_active_tokens_total"), lane);
  series.late = &registry_.Counter(MetricNamed("penstock_late_tokens_total"), lane);
  series.abandoned = &registry_.Counter(MetricNamed("penstock_abandoned_tokens_total"), lane);
  series.wait = &registry_.Histogram(MetricNamed("penstock_queue_wait_seconds"), lane, kWaitBuckets);
  series.ttft = &registry_.Histogram(MetricNamed("penstock_time_to_first_token_seconds"), lane, kTtftBuckets);
  series.tpot = &registry_.Histogram(MetricNamed("penstock_time_per_output_token_seconds"), lane, kTpotBuckets);
  series.total = &registry_.Histogram(MetricNamed("penstock_request_duration_seconds"), lane, kTotalBuckets);
  series.prompt_ratio =
      &registry_.Histogram(MetricNamed("penstock_prompt_estimate_ratio"), {{"model", models_[model]}}, kRatioBuckets);
  return series;
}

RequestMetrics::TenantSeries RequestMetrics::MakeTenantSeries(const std::string& tenant) {
  TenantSeries series;
  for (size_t i = 0; i < series.outcomes.size(); ++i) {
    series.outcomes[i] = &registry_.Counter(MetricNamed("penstock_tenant_requests_total"),
                                            {{"tenant", tenant}, {"outcome", std::string(kRequestOutcomeLabels[i])}});
  }
  const auto tokens = [&](const char* kind) {
    return &registry_.Counter(MetricNamed("penstock_tenant_tokens_total"), {{"tenant", tenant}, {"kind", kind}});
  };
  series.prompt = tokens("prompt");
  series.output = tokens("output");
  series.active = tokens("active");
  return series;
}

RequestMetrics::RequestSeries* RequestMetrics::SeriesOf(const RequestRecord& record) {
  const int endpoint = PositionIn(kEndpointLabels, record.endpoint);
  std::tuple<int, int, int> key;
  {
    std::shared_lock lock(mutex_);
    key = {endpoint, models_.Find(record.model), classes_.Find(record.service_class)};
    const auto found = request_series_.find(key);
    if (found != request_series_.end()) return found->second.get();
  }
  std::unique_lock lock(mutex_);
  std::unique_ptr<RequestSeries>& series = request_series_[key];
  if (series == nullptr) {
    series = std::make_unique<RequestSeries>(MakeRequestSeries(endpoint, std::get<1>(key), std::get<2>(key)));
  }
  return series.get();
}

RequestMetrics::TenantSeries* RequestMetrics::TenantOf(const RequestRecord& record) {
  int tenant = LabelNames::kNone;
  {
    std::shared_lock lock(mutex_);
    if (!has_tenants_) return nullptr;
    tenant = tenants_.Find(record.tenant);
    const auto found = tenant_series_.find(tenant);
    if (found != tenant_series_.end()) return found->second.get();
  }
  std::unique_lock lock(mutex_);
  std::unique_ptr<TenantSeries>& series = tenant_series_[tenant];
  if (series == nullptr) series = std::make_unique<TenantSeries>(MakeTenantSeries(tenants_[tenant]));
  return series.get();
}

prometheus::Counter* RequestMetrics::ReplicaOf(const RequestRecord& record) {
  const int outcome = static_cast<int>(record.outcome);
  std::pair<int, int> key;
  {
    std::shared_lock lock(mutex_);
    key = {replicas_.Find(record.replica), outcome};
    const auto found = replica_series_.find(key);
    if (found != replica_series_.end()) return found->second;
  }
  std::unique_lock lock(mutex_);
  Counter*& counter = replica_series_[key];
  if (counter == nullptr) {
    counter =
        &registry_.Counter(MetricNamed("penstock_replica_requests_total"),
                           {{"replica", replicas_[key.first]}, {"outcome", std::string(LabelOf(record.outcome))}});
  }
  return counter;
}

prometheus::Counter* RequestMetrics::ResponseOf(int status) {
  const int label = status >= 100 && status <= 599 ? status : 0;
  {
    std::shared_lock lock(mutex_);
    const auto found = response_series_.find(label);
    if (found != response_series_.end()) return found->second;
  }
  std::unique_lock lock(mutex_);
  Counter*& counter = response_series_[label];
  if (counter == nullptr)
    counter = &registry_.Counter(MetricNamed("penstock_responses_total"),
                                 {{"status", label == 0 ? "other" : std::to_string(label)}});
  return counter;
}

}  // namespace penstock
