// The metrics of ended requests: series by endpoint, model, class, tenant, replica and status.
//
// Series are made when first needed and are looked up by small numbers. Thread-safe; a request costs a few hash lookups
// under a shared lock, then atomic adds. Private to router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_

#include <array>
#include <memory>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/refusal.h"
#include "router/telemetry/label_names.h"
#include "router/telemetry/registry/metric_registry.h"
#include "router/telemetry/request_record.h"

namespace penstock {

class RequestMetrics {
 public:
  // `registry` must outlive it. `max_names` bounds the distinct values of one label.
  RequestMetrics(MetricRegistry& registry, size_t max_names) : registry_(registry), max_names_(max_names) {}

  // Adds the names of the fleet to the allowed label values.
  void SetFleet(const Fleet& fleet);
  void SetTenants(const std::vector<std::string>& tenants);
  void OnRequest(const RequestRecord& record);
  // The replica's name, or "other" when the fleet never had it.
  std::string ReplicaLabel(absl::string_view replica) const;

 private:
  using Counter = prometheus::Counter;

  struct TenantSeries {
    std::array<Counter*, kRequestOutcomeLabels.size()> outcomes{};
    Counter* prompt = nullptr;
    Counter* output = nullptr;
    Counter* active = nullptr;
  };
  // The series of one (endpoint, model, class). Endpoints share all but `outcomes`.
  struct RequestSeries {
    std::array<Counter*, kRequestOutcomeLabels.size()> outcomes{};
    std::array<Counter*, kRefusalCount> refusals{};
    Counter* prompt = nullptr;
    Counter* output = nullptr;
    Counter* active = nullptr;
    Counter* late = nullptr;
    Counter* abandoned = nullptr;
    prometheus::Histogram* wait = nullptr;
    prometheus::Histogram* ttft = nullptr;
    prometheus::Histogram* tpot = nullptr;
    prometheus::Histogram* total = nullptr;
    prometheus::Histogram* prompt_ratio = nullptr;
  };

  static void Count(const RequestSeries& series, const RequestRecord& record);
  RequestSeries MakeRequestSeries(int endpoint, int model, int service_class);
  TenantSeries MakeTenantSeries(const std::string& tenant);
  RequestSeries* SeriesOf(const RequestRecord& record);
  TenantSeries* TenantOf(const RequestRecord& record);  // Null without configured tenants.
  Counter* ReplicaOf(const RequestRecord& record);
  Counter* ResponseOf(int status);

  MetricRegistry& registry_;
  const size_t max_names_;

  // Guards everything below; held for lookups only. (The packaged absl::Mutex is opaque to the thread sanitizer.)
  mutable std::shared_mutex mutex_;
  LabelNames models_;
  LabelNames classes_;
  LabelNames replicas_;
  LabelNames tenants_;
  bool has_tenants_ = false;
  absl::flat_hash_map<std::tuple<int, int, int>, std::unique_ptr<RequestSeries>> request_series_;
  absl::flat_hash_map<int, std::unique_ptr<TenantSeries>> tenant_series_;
  absl::flat_hash_map<std::pair<int, int>, Counter*> replica_series_;
  absl::flat_hash_map<int, Counter*> response_series_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_
