// The metrics about prefix caches and their events: a part of the list of all (metric_list.h). Constants.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_KV_EVENT_METRIC_LIST_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_KV_EVENT_METRIC_LIST_H_

#include "router/telemetry/registry/metric.h"

namespace penstock {

inline constexpr Metric kKvEventMetrics[] = {
    {"Prefix caches", "penstock_host_cache_expected_tokens_total", MetricType::kCounter, "",
     "The part of penstock_prefix_expected_tokens_total that was expected in the memory of hosts"},
    {"Prefix caches", "penstock_host_cache_found_tokens_total", MetricType::kCounter, "",
     "The part of penstock_prefix_found_tokens_total that was found there"},
    {"Prefix caches", "penstock_kv_event_followed", MetricType::kGauge, "replica",
     "1 while the events of the engine's cache are whole; only with kv_events"},
    {"Prefix caches", "penstock_kv_event_confirmed_blocks", MetricType::kGauge, "replica",
     "Prompt blocks of 512 tokens in the router's index that the engine says it has"},
    {"Prefix caches", "penstock_kv_events_total", MetricType::kCounter, "kind replica",
     "Events of the engine's cache: stored, removed, cleared, ignored (of other types, layers and tiers)"},
    {"Prefix caches", "penstock_kv_event_batches_total", MetricType::kCounter, "replica result",
     "Batches of events: taken, garbage (no batch), missed (a later one came first)"},
    {"Prefix caches", "penstock_kv_event_resyncs_total", MetricType::kCounter, "cause replica",
     "Times that the index was read again or begun anew: replay (asked for), loss (of events), restart (a new "
     "publisher)"},
    {"Prefix caches", "penstock_kv_event_matches_total", MetricType::kCounter, "replica result",
     "Finished requests by the blocks that they stored: named (by the engine), by_length, ambiguous, nothing_new"},
    {"Prefix caches", "penstock_kv_event_unknown_chains_total", MetricType::kCounter, "replica",
     "Chains of stored blocks that no request of this router explains"},
    {"Prefix caches", "penstock_kv_event_conflicts_total", MetricType::kCounter, "replica",
     "Prompt blocks that two requests bound to different blocks of the engine: none of both counts"},
    {"Prefix caches", "penstock_kv_event_missed_requests_total", MetricType::kCounter, "",
     "Events of requests that the reader of cache events was too slow to see"},
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_KV_EVENT_METRIC_LIST_H_
