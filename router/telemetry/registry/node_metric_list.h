// The metrics about nodes: a part of the list of all (metric_list.h). Constants.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_NODE_METRIC_LIST_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_NODE_METRIC_LIST_H_

#include "router/telemetry/registry/metric.h"

namespace penstock {

inline constexpr Metric kNodeMetrics[] = {
    {"Nodes", "penstock_node_left_ratio", MetricType::kGauge, "node resource", "Part of the node that is left"},
    {"Nodes", "penstock_node_storage_requests", MetricType::kGauge, "node", "Requests about to use its storage"},
    {"Nodes", "penstock_node_scrapes_total", MetricType::kCounter, "exporter node result", "Readings of exporters"},
    {"Nodes", "penstock_node_stale", MetricType::kGauge, "exporter node", "1 while the exporter has no effect"},
    {"Nodes", "penstock_node_sleep_memory_bytes", MetricType::kGauge, "node",
     "Memory that the weights of sleeping replicas may take; only with sleep_memory"},
    {"Nodes", "penstock_node_sleep_memory_used_bytes", MetricType::kGauge, "node",
     "The part of it that engines hold, also while they are awake"},
    {"Nodes", "penstock_node_sleep_memory_lacking", MetricType::kGauge, "node",
     "Idle replicas that stay awake because it has no room for them"},
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_NODE_METRIC_LIST_H_
