#include "router/telemetry/request_metrics.h"

#include <algorithm>
#include <iterator>
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

// The row of kRefusals; behind its last one where it has none.
size_t RowOf(absl::string_view reason) {
  const auto row = std::find_if(kRefusals.begin(), kRefusals.end(),
                                [reason](const RefusalTraits& traits) { return traits.label == reason; });
  return static_cast<size_t>(row - kRefusals.begin());
}

void Observe(Histogram* histogram, const std::optional<Duration>& value) {
  if (value) histogram->Observe(std::max(0.0, value->seconds()));
}

void Add(prometheus::Counter* counter, int64_t amount) {
  if (amount > 0) counter->Increment(static_cast<double>(amount));
}

}  // namespace

void RequestMetrics::SetFleet(const Fleet& fleet) {
  {
    const auto lock = names_.Reading();
    if (names_.IsOf(fleet)) return;
  }
  DroppedNames dropped;
  {
    const auto lock = names_.Changing();
    dropped = names_.SetFleet(fleet);
    if (!dropped.empty()) Forget(dropped);
  }
  Retire(dropped);
}

void RequestMetrics::SetTenants(const std::vector<std::string>& tenants) {
  DroppedNames dropped;
  {
    const auto lock = names_.Changing();
    dropped = names_.SetTenants(tenants);
    if (!dropped.empty()) Forget(dropped);
  }
  Retire(dropped);
}

void RequestMetrics::Forget(const DroppedNames& dropped) {
  absl::erase_if(request_series_, [&dropped](const auto& entry) {
    const auto [endpoint, model, service_class] = entry.first;
    return dropped.models.numbers.contains(model) || dropped.classes.numbers.contains(service_class);
  });
  absl::erase_if(tenant_series_,
                 [&dropped](const auto& entry) { return dropped.tenants.numbers.contains(entry.first); });
  absl::erase_if(replica_series_,
                 [&dropped](const auto& entry) { return dropped.replicas.numbers.contains(entry.first.first); });
}

void RequestMetrics::Retire(const DroppedNames& dropped) {
  if (dropped.empty()) return;
  const std::pair<const char*, const absl::flat_hash_set<std::string>*> kinds[] = {{"model", &dropped.models.names},
                                                                                   {"class", &dropped.classes.names},
                                                                                   {"replica", &dropped.replicas.names},
                                                                                   {"tenant", &dropped.tenants.names}};
  registry_.Retire([&kinds](const MetricRegistry::Labels& labels) {
    return std::any_of(std::begin(kinds), std::end(kinds), [&labels](const auto& kind) {
      const auto label = labels.find(kind.first);
      return label != labels.end() && kind.second->contains(label->second);
    });
  });
}

void RequestMetrics::OnRequest(const RequestRecord& record) {
  {
    const auto lock = names_.Reading();
    Found found;
    if (Find(KeyOf(record), found)) return Count(found, record);
  }
  const auto lock = names_.Changing();
  Count(Make(KeyOf(record)), record);
}

bool RequestMetrics::OnRefusal(int status, absl::string_view reason) {
  const size_t row = RowOf(reason);
  const bool known = row < kRefusals.size();
  {
    const auto lock = names_.Reading();
    const auto response = response_series_.find(status);
    if (response != response_series_.end() && (!known || refusal_series_[row] != nullptr)) {
      response->second->Increment();
      if (known) refusal_series_[row]->Increment();
      return known;
    }
  }
  const auto lock = names_.Changing();
  MakeResponse(status)->Increment();
  if (known) MakeRefusal(row)->Increment();
  return known;
}

RequestMetrics::Key RequestMetrics::KeyOf(const RequestRecord& record) const {
  Key key;
  key.request = {PositionIn(kEndpointLabels, record.endpoint), names_.models().Find(record.model),
                 names_.classes().Find(record.service_class)};
  if (names_.has_tenants()) key.tenant = names_.tenants().Find(record.tenant);
  if (!record.replica.empty()) {
    key.replica = {names_.replicas().Find(record.replica), static_cast<int>(record.outcome)};
  }
  key.response = record.status >= 100 && record.status <= 599 ? record.status : 0;
  return key;
}

bool RequestMetrics::Find(const Key& key, Found& found) const {
  const auto request = request_series_.find(key.request);
  const auto response = response_series_.find(key.response);
  if (request == request_series_.end() || response == response_series_.end()) return false;
  found.request = request->second.get();
  found.response = response->second;
  if (key.tenant) {
    const auto tenant = tenant_series_.find(*key.tenant);
    if (tenant == tenant_series_.end()) return false;
    found.tenant = tenant->second.get();
  }
  if (key.replica) {
    const auto replica = replica_series_.find(*key.replica);
    if (replica == replica_series_.end()) return false;
    found.replica = replica->second;
  }
  return true;
}

RequestMetrics::Counter* RequestMetrics::MakeResponse(int status) {
  Counter*& response = response_series_[status];
  if (response == nullptr) {
    response = &registry_.Counter(MetricNamed("penstock_responses_total"),
                                  {{"status", status == 0 ? "other" : std::to_string(status)}});
  }
  return response;
}

RequestMetrics::Counter* RequestMetrics::MakeRefusal(size_t row) {
  Counter*& refusal = refusal_series_[row];
  if (refusal == nullptr) {
    const std::string& model = names_.models()[names_.models().Find("")];
    const std::string& service_class = names_.classes()[names_.classes().Find("")];
    refusal =
        &registry_.Counter(MetricNamed("penstock_refusals_total"),
                           {{"model", model}, {"class", service_class}, {"reason", std::string(kRefusals[row].label)}});
  }
  return refusal;
}

RequestMetrics::Found RequestMetrics::Make(const Key& key) {
  const auto [endpoint, model, service_class] = key.request;
  std::unique_ptr<RequestSeries>& request = request_series_[key.request];
  if (request == nullptr) {
    request = std::make_unique<RequestSeries>(MakeRequestSeries(endpoint, model, service_class));
  }
  Found found{request.get(), nullptr, nullptr, MakeResponse(key.response)};
  if (key.tenant) {
    std::unique_ptr<TenantSeries>& tenant = tenant_series_[*key.tenant];
    if (tenant == nullptr) tenant = std::make_unique<TenantSeries>(MakeTenantSeries(names_.tenants()[*key.tenant]));
    found.tenant = tenant.get();
  }
  if (key.replica) {
    Counter*& replica = replica_series_[*key.replica];
    if (replica == nullptr) {
      const absl::string_view outcome = kRequestOutcomeLabels[static_cast<size_t>(key.replica->second)];
      replica =
          &registry_.Counter(MetricNamed("penstock_replica_requests_total"),
                             {{"replica", names_.replicas()[key.replica->first]}, {"outcome", std::string(outcome)}});
    }
    found.replica = replica;
  }
  return found;
}

void RequestMetrics::Count(const Found& found, const RequestRecord& record) {
  CountRequest(*found.request, record);
  found.response->Increment();
  if (found.replica != nullptr) found.replica->Increment();
  if (found.tenant == nullptr) return;
  found.tenant->outcomes[static_cast<size_t>(record.outcome)]->Increment();
  Add(found.tenant->prompt, record.ComputedPrompt().value());
  Add(found.tenant->output, record.output.value());
  Add(found.tenant->active, record.active_tokens);
}

void RequestMetrics::CountRequest(const RequestSeries& series, const RequestRecord& record) {
  series.outcomes[static_cast<size_t>(record.outcome)]->Increment();
  if (record.outcome == RequestOutcome::kRefused) {
    const size_t row = RowOf(record.reason);
    if (row < series.refusals.size()) series.refusals[row]->Increment();
  }
  Add(series.prompt, record.ComputedPrompt().value());
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
  const prometheus::Labels lane = {{"model", names_.models()[model]}, {"class", names_.classes()[service_class]}};
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
  series.prompt_ratio = &registry_.Histogram(MetricNamed("penstock_prompt_estimate_ratio"),
                                             {{"model", names_.models()[model]}}, kRatioBuckets);
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

}  // namespace penstock
