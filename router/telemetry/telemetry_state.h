// The metrics of Telemetry: their families, and the series of each combination of labels seen so far.
//
// Series are made when first asked for, are looked up by small numbers (a name's position in a bounded set), and stay
// where they are. Private to router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_STATE_H_
#define PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_STATE_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "router/core/contract/refusal.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

// A growing, bounded set of label values. Position 0 stands for everything that is not in it.
class LabelNames {
 public:
  static constexpr int kOther = 0;
  static constexpr int kNone = 1;

  LabelNames() : names_{"other", "none"} {}
  void Add(const std::string& name, size_t limit);
  int Find(absl::string_view name) const;
  const std::string& operator[](int position) const { return names_[position]; }

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, int> positions_;
};

struct TenantSeries {
  std::array<prometheus::Counter*, kRequestOutcomeLabels.size()> outcomes{};
  prometheus::Counter* prompt = nullptr;
  prometheus::Counter* output = nullptr;
  prometheus::Counter* active = nullptr;
};

// The series of one (endpoint, model, class); all but `outcomes` are shared by the endpoints.
struct RequestSeries {
  std::array<prometheus::Counter*, kRequestOutcomeLabels.size()> outcomes{};
  std::array<prometheus::Counter*, kRefusalCount> refusals{};
  prometheus::Counter* prompt = nullptr;
  prometheus::Counter* output = nullptr;
  prometheus::Counter* active = nullptr;
  prometheus::Counter* late = nullptr;
  prometheus::Counter* abandoned = nullptr;
  prometheus::Histogram* wait = nullptr;
  prometheus::Histogram* ttft = nullptr;
  prometheus::Histogram* tpot = nullptr;
  prometheus::Histogram* total = nullptr;
  prometheus::Histogram* prompt_ratio = nullptr;
};

struct Telemetry::State {
  using Counter = prometheus::Counter;
  using Gauge = prometheus::Gauge;
  using Histogram = prometheus::Histogram;
  using CounterFamily = prometheus::Family<Counter>;
  using HistogramFamily = prometheus::Family<Histogram>;

  explicit State(const TelemetryOptions& given);

  CounterFamily& NewCounter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  HistogramFamily& NewHistogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<Gauge>& NewGauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }

  RequestSeries MakeRequestSeries(int endpoint, int model, int service_class);
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
  Histogram& decisions;
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
  LabelNames models;
  LabelNames classes;
  LabelNames replicas;
  LabelNames tenants;
  bool has_tenants = false;
  std::map<std::string, Tokens> block_of_pool;
  // Series stay where they are once made: prometheus keeps them until the registry goes.
  absl::flat_hash_map<std::tuple<int, int, int>, std::unique_ptr<RequestSeries>> request_series;
  absl::flat_hash_map<int, std::unique_ptr<TenantSeries>> tenant_series;
  absl::flat_hash_map<std::pair<int, int>, Counter*> replica_series;
  absl::flat_hash_map<int, Counter*> response_series;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_TELEMETRY_STATE_H_
