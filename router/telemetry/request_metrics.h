// The metrics of ended requests: series by endpoint, model, class, tenant, replica and status.
//
// Series are made when first needed and are looked up by small numbers. Thread-safe; a request costs a few hash lookups
// and atomic adds under a shared lock. Private to router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/fleet.h"
#include "router/core/contract/refusal.h"
#include "router/telemetry/names/fleet_names.h"
#include "router/telemetry/registry/metric_registry.h"
#include "router/telemetry/request_record.h"

namespace penstock {

class RequestMetrics {
 public:
  // Both outlive it.
  RequestMetrics(MetricRegistry& registry, FleetNames& names) : registry_(registry), names_(names) {}

  // Names that may be labels. The series of those that are no longer here end.
  void SetFleet(const Fleet& fleet);
  void SetTenants(const std::vector<std::string>& tenants);
  void OnRequest(const RequestRecord& record);
  // Counts a refusal without a model and a class. True: its reason is one of kRefusals.
  bool OnRefusal(int status, absl::string_view reason);

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

  // All that one request counts; null: it counts none of this kind.
  struct Found {
    RequestSeries* request = nullptr;
    TenantSeries* tenant = nullptr;
    Counter* replica = nullptr;
    Counter* response = nullptr;
  };
  // The numbers of a record's labels, as the names are now.
  struct Key {
    std::tuple<int, int, int> request;
    std::optional<int> tenant;  // None without configured tenants.
    std::optional<std::pair<int, int>> replica;
    int response = 0;
  };

  static void Count(const Found& found, const RequestRecord& record);
  static void CountRequest(const RequestSeries& series, const RequestRecord& record);
  Key KeyOf(const RequestRecord& record) const;
  // False: some are not made yet.
  bool Find(const Key& key, Found& found) const;
  Found Make(const Key& key);
  Counter* MakeResponse(int status);
  Counter* MakeRefusal(size_t row);
  RequestSeries MakeRequestSeries(int endpoint, int model, int service_class);
  TenantSeries MakeTenantSeries(const std::string& tenant);
  // Lets go of the series of dropped names. Under the lock of the names.
  void Forget(const DroppedNames& dropped);
  // Ends the series of dropped names, which nobody reaches any more.
  void Retire(const DroppedNames& dropped);

  MetricRegistry& registry_;
  FleetNames& names_;

  // The lock of the names guards everything below.
  absl::flat_hash_map<std::tuple<int, int, int>, std::unique_ptr<RequestSeries>> request_series_;
  absl::flat_hash_map<int, std::unique_ptr<TenantSeries>> tenant_series_;
  absl::flat_hash_map<std::pair<int, int>, Counter*> replica_series_;
  absl::flat_hash_map<int, Counter*> response_series_;
  std::array<Counter*, kRefusalCount> refusal_series_{};  // Refusals without model and class. Null: not made yet.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REQUEST_METRICS_H_
