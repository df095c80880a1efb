// The metrics about the first stages of requests on pairs: a part of the list of all (metric_list.h). Constants.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_HANDOVER_METRIC_LIST_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_HANDOVER_METRIC_LIST_H_

#include "router/telemetry/registry/metric.h"

namespace penstock {

inline constexpr Metric kHandoverMetrics[] = {
    {"Pairs", "penstock_handovers_total", MetricType::kCounter, "replica result",
     "Prompts for a prefill replica, by their end: handed_over; nothing, false, rejected or skipped (the decode "
     "replica "
     "computes them); failed (placed again); left"},
    {"Pairs", "penstock_prefill_seconds", MetricType::kHistogram, "replica",
     "Time of a prefill replica from the request to the offer of its cache"},
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_HANDOVER_METRIC_LIST_H_
