// Every metric of /metrics, declared once: name, type, labels and help.
//
// The router registers its counters, gauges and histograms from this list, and docs/metrics.md prints it. Names start
// with penstock_, have base units (seconds, bytes, ratio) and end in _total when they count. Constants.
#ifndef PENSTOCK_ROUTER_TELEMETRY_METRIC_LIST_H_
#define PENSTOCK_ROUTER_TELEMETRY_METRIC_LIST_H_

#include <cstdint>
#include <iterator>
#include <string_view>

namespace penstock {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct Metric {
  std::string_view group;  // Heading in the reference.
  std::string_view name;
  MetricType type;
  std::string_view labels;  // Names in alphabetical order, one space between.
  std::string_view help;
};

inline constexpr Metric kMetrics[] = {
    {"Requests", "penstock_requests_total", MetricType::kCounter, "class endpoint model outcome",
     "Requests that ended, by outcome"},
    {"Requests", "penstock_refusals_total", MetricType::kCounter, "class model reason",
     "Requests that the router refused, by reason"},
    {"Requests", "penstock_responses_total", MetricType::kCounter, "status",
     "Answers to requests for an engine by HTTP status; 499: the client left first"},
    {"Requests", "penstock_prompt_tokens_total", MetricType::kCounter, "class model",
     "Prompt tokens by the engines' count"},
    {"Requests", "penstock_output_tokens_total", MetricType::kCounter, "class model",
     "Generated tokens by the engines' count"},
    {"Requests", "penstock_active_tokens_total", MetricType::kCounter, "class model",
     "Tokens that reached their client by their due time, of requests that ended well"},
    {"Requests", "penstock_late_tokens_total", MetricType::kCounter, "class model",
     "Tokens that reached their client late, of requests that ended well"},
    {"Requests", "penstock_abandoned_tokens_total", MetricType::kCounter, "class model",
     "Tokens of requests that did not end well"},
    {"Requests", "penstock_queue_wait_seconds", MetricType::kHistogram, "class model",
     "Time from arrival to being forwarded"},
    {"Requests", "penstock_time_to_first_token_seconds", MetricType::kHistogram, "class model",
     "Time from arrival to the first token at the client"},
    {"Requests", "penstock_time_per_output_token_seconds", MetricType::kHistogram, "class model",
     "Mean time between the tokens of a request after its first"},
    {"Requests", "penstock_request_duration_seconds", MetricType::kHistogram, "class model",
     "Time from arrival to the last byte"},
    {"Requests", "penstock_prompt_estimate_ratio", MetricType::kHistogram, "model",
     "Estimated over counted prompt tokens of finished requests"},
    {"Requests", "penstock_merged_requests_total", MetricType::kCounter, "result",
     "Embedding requests that shared a call to an engine, by its end: merged, sent_alone (it failed), divided (the "
     "engine refused it) or timed_out"},
    {"Requests", "penstock_resumes_total", MetricType::kCounter, "result",
     "Answers whose engine failed after the client had part of them, by what became of them"},
    {"Requests", "penstock_bad_input_total", MetricType::kCounter, "kind",
     "Malformed or impossible client input, by kind"},

    {"Tenants", "penstock_tenant_requests_total", MetricType::kCounter, "outcome tenant",
     "Requests of configured tenants"},
    {"Tenants", "penstock_tenant_tokens_total", MetricType::kCounter, "kind tenant",
     "Tokens of configured tenants, by kind"},
    {"Tenants", "penstock_tenant_available_tokens", MetricType::kGauge, "tenant",
     "Tokens that a tenant's limit leaves it now; negative: overdrawn"},
    {"Tenants", "penstock_tenant_weight", MetricType::kGauge, "tenant",
     "Share of service of a tenant, relative to others; only with fairness"},
    {"Tenants", "penstock_tenant_service", MetricType::kGauge, "tenant",
     "Service that a tenant was charged since start, corrected as requests end; only with fairness"},
    {"Tenants", "penstock_tenant_lead", MetricType::kGauge, "tenant",
     "Service over weight that a tenant has above the level at which tenants return, in any class; only with fairness"},

    {"Queue", "penstock_queue_requests", MetricType::kGauge, "class model", "Requests that wait, by lane"},
    {"Queue", "penstock_parked_streams", MetricType::kGauge, "class model",
     "Streams that lend their memory until their next token is nearly due; they count as waiting too"},
    {"Queue", "penstock_queue_oldest_wait_seconds", MetricType::kGauge, "class model",
     "Wait of the longest waiting request of the lane"},
    {"Queue", "penstock_queued_requests", MetricType::kGauge, "", "Requests that wait in all lanes"},
    {"Queue", "penstock_queued_bytes", MetricType::kGauge, "", "Bytes of the bodies of requests that wait"},

    {"Pools", "penstock_pool_capacity_bytes", MetricType::kGauge, "pool",
     "KV memory of the pool, configured or discovered"},
    {"Pools", "penstock_pool_held_bytes", MetricType::kGauge, "pool",
     "KV memory that live requests hold by the ledger, prompts on their way included"},
    {"Pools", "penstock_pool_draining_bytes", MetricType::kGauge, "pool",
     "KV memory of aborted requests that is not yet known to be free"},
    {"Pools", "penstock_pool_forecast_peak_bytes", MetricType::kGauge, "pool",
     "Forecast bound of the pool's use at its worst horizon (mean + z sigma)"},
    {"Pools", "penstock_pool_reported_bytes", MetricType::kGauge, "pool",
     "KV memory in use by the engine's own last report"},
    {"Pools", "penstock_pool_foreign_bytes", MetricType::kGauge, "pool", "KV memory used by others than this router"},
    {"Pools", "penstock_pool_overdraft_bytes", MetricType::kGauge, "pool",
     "KV memory used by own requests beyond what their leases hold"},
    {"Pools", "penstock_pool_capacity_tokens", MetricType::kGauge, "pool",
     "KV memory of the pool, configured or discovered"},
    {"Pools", "penstock_pool_held_tokens", MetricType::kGauge, "pool",
     "KV memory that live requests hold by the ledger, prompts on their way included"},
    {"Pools", "penstock_pool_draining_tokens", MetricType::kGauge, "pool",
     "KV memory of aborted requests that is not yet known to be free"},
    {"Pools", "penstock_pool_forecast_peak_tokens", MetricType::kGauge, "pool",
     "Forecast bound of the pool's use at its worst horizon (mean + z sigma)"},
    {"Pools", "penstock_pool_reported_tokens", MetricType::kGauge, "pool",
     "KV memory in use by the engine's own last report"},
    {"Pools", "penstock_pool_foreign_tokens", MetricType::kGauge, "pool", "KV memory used by others than this router"},
    {"Pools", "penstock_pool_overdraft_tokens", MetricType::kGauge, "pool",
     "KV memory used by own requests beyond what their leases hold"},
    {"Pools", "penstock_pool_promised_bytes", MetricType::kGauge, "pool",
     "Expected final footprint of all live requests of the pool; zero when nothing runs"},
    {"Pools", "penstock_pool_promised_blocks", MetricType::kGauge, "pool",
     "Expected final footprint of all live requests of the pool; zero when nothing runs, in the engine's blocks"},
    {"Pools", "penstock_pool_risk_z", MetricType::kGauge, "pool",
     "Standard deviations of head room that admission keeps"},
    {"Pools", "penstock_pool_report_age_seconds", MetricType::kGauge, "pool",
     "Age of the newest engine report of the pool"},
    {"Pools", "penstock_pool_report_stale", MetricType::kGauge, "pool",
     "1 when the pool has no fresh engine report: the ledger goes on by itself"},
    {"Pools", "penstock_pool_overdrafts_total", MetricType::kCounter, "pool",
     "Times the engine was seen to use more than its leases hold"},
    {"Pools", "penstock_pool_forecast_error_ratio", MetricType::kGauge, "horizon pool",
     "Forecast of one horizon ago minus what the same requests hold now, over capacity"},

    {"Replicas", "penstock_replica_up", MetricType::kGauge, "model replica", "1 when the replica takes requests"},
    {"Replicas", "penstock_replica_running_requests", MetricType::kGauge, "model replica",
     "Requests forwarded to the replica and not ended"},
    {"Replicas", "penstock_replica_prefilling_requests", MetricType::kGauge, "model replica",
     "Of those, requests without a first token"},
    {"Replicas", "penstock_replica_backlog_tokens", MetricType::kGauge, "model replica",
     "Prompt tokens forwarded and not yet computed, by forecast"},
    {"Replicas", "penstock_replica_step_factor_ratio", MetricType::kGauge, "model replica",
     "Learned over prior step time"},
    {"Replicas", "penstock_replica_host_time_seconds", MetricType::kGauge, "model replica",
     "Part of a first token's time that no step explains, learned"},
    {"Replicas", "penstock_replica_stream_tokens_per_second", MetricType::kGauge, "model replica",
     "Forecast decode rate of one stream"},
    {"Replicas", "penstock_replica_preemptions_total", MetricType::kCounter, "model replica",
     "Preemptions that the engine reported"},
    {"Replicas", "penstock_replica_asleep", MetricType::kGauge, "model replica",
     "1 while the replica has given its memory back, or is about to; only with sleep"},
    {"Replicas", "penstock_sleeps_total", MetricType::kCounter, "replica result",
     "Orders to give the memory back that ended, by result"},
    {"Replicas", "penstock_wakes_total", MetricType::kCounter, "replica result",
     "Orders to take the memory again that ended, by result"},
    {"Replicas", "penstock_wake_seconds", MetricType::kHistogram, "replica", "Time of wakes that succeeded"},
    {"Replicas", "penstock_adapter_loads_total", MetricType::kCounter, "replica result",
     "Orders to load an adapter that ended, by result"},
    {"Replicas", "penstock_adapter_load_seconds", MetricType::kHistogram, "replica",
     "Time of loads of adapters that succeeded"},
    {"Replicas", "penstock_replica_requests_total", MetricType::kCounter, "outcome replica",
     "Requests that ended on a replica"},
    {"Replicas", "penstock_engine_errors_total", MetricType::kCounter, "kind replica", "Failures of engines, by kind"},
    {"Replicas", "penstock_false_usage_total", MetricType::kCounter, "replica",
     "Answers whose usage had an impossible count; the router's own count stands in"},
    {"Replicas", "penstock_false_sleeps_total", MetricType::kCounter, "replica",
     "Times that the engine was found to say that it sleeps while it answers"},
    {"Replicas", "penstock_engine_polls_total", MetricType::kCounter, "replica result",
     "Observations of engines, by result"},
    {"Replicas", "penstock_engine_rereads_total", MetricType::kCounter, "replica result",
     "Readings of the models and limits of running engines, by result: same, changed, failed"},
    {"Replicas", "penstock_elastic_limit_bytes", MetricType::kGauge, "model replica",
     "Limit of the engine's cache in elastic memory, as its segment had it last"},
    {"Replicas", "penstock_elastic_used_bytes", MetricType::kGauge, "model replica",
     "Elastic memory in use by the engine's cache"},
    {"Replicas", "penstock_elastic_preallocated_bytes", MetricType::kGauge, "model replica",
     "Elastic memory that the engine took from the GPU and does not use yet"},
    {"Replicas", "penstock_elastic_age_seconds", MetricType::kGauge, "model replica",
     "Age of the newest good reading of the segment; the last values stay in force"},
    {"Replicas", "penstock_elastic_orders_total", MetricType::kCounter, "model replica",
     "Limits that the router ordered for the engine's cache"},
    {"Replicas", "penstock_elastic_orders_failed_total", MetricType::kCounter, "model replica",
     "Of those, limits that were not read back in time; the engine is then left alone for a while"},
    {"Replicas", "penstock_elastic_reads_total", MetricType::kCounter, "replica result",
     "Readings of the engine's segment, by result"},
    {"Replicas", "penstock_elastic_writes_total", MetricType::kCounter, "replica result",
     "Limits written into the engine's segment, by result"},

    {"Decisions", "penstock_decision_seconds", MetricType::kHistogram, "", "Time inside one call of the decision core"},
    {"Decisions", "penstock_output_forecasts_total", MetricType::kCounter, "",
     "Outputs that were compared with their forecast"},
    {"Decisions", "penstock_output_forecasts_covered_total", MetricType::kCounter, "level",
     "Outputs at or below that level of their forecast"},
    {"Decisions", "penstock_output_forecast_pinball_tokens_total", MetricType::kCounter, "level",
     "Sum of the pinball loss of output forecasts"},
    {"Decisions", "penstock_prefix_expected_tokens_total", MetricType::kCounter, "",
     "Prompt tokens that were expected in the engines' prefix caches"},
    {"Decisions", "penstock_prefix_found_tokens_total", MetricType::kCounter, "",
     "Prompt tokens of the same requests that were found there"},
    {"Decisions", "penstock_parked_total", MetricType::kCounter, "",
     "Times that a stream ahead of its due times lent its memory; one that declined is not counted"},
    {"Decisions", "penstock_evicted_total", MetricType::kCounter, "",
     "Times that a running request made room for a class above its own"},
    {"Decisions", "penstock_aborts_total", MetricType::kCounter, "",
     "Running requests taken back for the sake of the others"},
    {"Decisions", "penstock_returns_total", MetricType::kCounter, "",
     "Forwarded requests that waited again (push-back, engine lost)"},
    {"Decisions", "penstock_book_drifts_total", MetricType::kCounter, "",
     "Recounts of the core's books that found a difference; above 0: the core is wrong, please report it"},

    {"Router", "penstock_connections_total", MetricType::kCounter, "", "Client connections accepted since start"},
    {"Router", "penstock_connections_open", MetricType::kGauge, "", "Client connections open"},
    {"Router", "penstock_turned_away_total", MetricType::kCounter, "limit",
     "Connections and requests refused at the door, by the limit reached; loop: it passed this router before"},
    {"Router", "penstock_fill_ratio", MetricType::kGauge, "of", "How much of a limit is in use; 1: full"},
    {"Router", "penstock_buffered_bytes", MetricType::kGauge, "", "Bytes of request and answer bodies held in memory"},
    {"Router", "penstock_draining", MetricType::kGauge, "", "1 once the router drains before its end"},
    {"Router", "penstock_log_lines_dropped_total", MetricType::kCounter, "",
     "Decision log lines lost to a full queue or a failed write"},
    {"Router", "penstock_config_reloads_total", MetricType::kCounter, "result", "Configuration reloads, by result"},
    {"Router", "penstock_config_last_reload_successful", MetricType::kGauge, "",
     "1 when the newest configuration is in force"},
    {"Router", "penstock_config_last_reload_success_timestamp_seconds", MetricType::kGauge, "",
     "When the configuration in force was loaded"},
    {"Router", "penstock_build_info", MetricType::kGauge, "compiler version", "Always 1; what is running"},
};

// The metric of this name; a name that is not in the list does not compile.
consteval const Metric& MetricNamed(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric;
  }
  throw "no metric of this name";
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_METRIC_LIST_H_
