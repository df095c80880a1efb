#include "router/telemetry/telemetry_state.h"

#include <algorithm>
#include <mutex>

namespace penstock {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets kWaitBuckets = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 600};
const Buckets kTtftBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300};
const Buckets kTpotBuckets = {0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04,
                              0.05,  0.075,  0.1,   0.15, 0.25,  0.5,  1,    2};
const Buckets kTotalBuckets = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280};
const Buckets kDecisionBuckets = {1e-6, 2e-6, 3e-6, 5e-6, 7.5e-6, 1e-5, 1.5e-5, 2e-5,
                                  3e-5, 5e-5, 1e-4, 2e-4, 5e-4,   1e-3, 1e-2};
const Buckets kRatioBuckets = {0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 1.01, 1.03, 1.05, 1.1, 1.25, 1.5, 2, 4};

template <size_t N>
int PositionIn(const std::array<absl::string_view, N>& labels, absl::string_view label) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  return found == labels.end() ? static_cast<int>(N) - 1 : static_cast<int>(found - labels.begin());
}

}  // namespace

void LabelNames::Add(const std::string& name, size_t limit) {
  if (name.empty() || names_.size() >= limit + 2) return;
  if (positions_.try_emplace(name, static_cast<int>(names_.size())).second) names_.push_back(name);
}

int LabelNames::Find(absl::string_view name) const {
  if (name.empty()) return kNone;
  const auto found = positions_.find(name);
  return found == positions_.end() ? kOther : found->second;
}

Telemetry::State::State(const TelemetryOptions& given) : options(given), decisions(decision.Add({}, kDecisionBuckets)) {
  for (size_t kind = 0; kind < bad_inputs.size(); ++kind) {
    bad_inputs[kind] = &bad_input.Add({{"kind", std::string(kBadInputLabels[kind])}});
  }
  for (size_t limit = 0; limit < turned_away.size(); ++limit) {
    turned_away[limit] = &turned.Add({{"limit", std::string(kTurnedAwayLabels[limit])}});
  }
  for (size_t what = 0; what < fills.size(); ++what)
    fills[what] = &fill.Add({{"of", std::string(kBoundedLabels[what])}});
  for (size_t result = 0; result < resumes.size(); ++result) {
    resumes[result] = &resumed.Add({{"result", std::string(kResumeLabels[result])}});
  }
  build.Add({{"version", options.version}, {"compiler", __VERSION__}}).Set(1);
}

RequestSeries Telemetry::State::MakeRequestSeries(int endpoint, int model, int service_class) {
  const prometheus::Labels lane = {{"model", models[model]}, {"class", classes[service_class]}};
  RequestSeries series;
  for (size_t i = 0; i < series.outcomes.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("endpoint", std::string(kEndpointLabels[endpoint]));
    labels.emplace("outcome", std::string(kRequestOutcomeLabels[i]));
    series.outcomes[i] = &requests.Add(labels);
  }
  for (size_t i = 0; i < series.refusals.size(); ++i) {
    prometheus::Labels labels = lane;
    labels.emplace("reason", std::string(kRefusals[i].label));
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
    series.outcomes[i] = &tenant_requests.Add({{"tenant", tenant}, {"outcome", std::string(kRequestOutcomeLabels[i])}});
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
    key = {endpoint, models.Find(record.model), classes.Find(record.service_class)};
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
  int tenant = LabelNames::kNone;
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

prometheus::Counter* Telemetry::State::ReplicaOf(const RequestRecord& record) {
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
    counter =
        &replica_requests.Add({{"replica", replicas[key.first]}, {"outcome", std::string(LabelOf(record.outcome))}});
  }
  return counter;
}

prometheus::Counter* Telemetry::State::ResponseOf(int status) {
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

}  // namespace penstock
