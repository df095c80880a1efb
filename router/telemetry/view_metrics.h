// The decision core's view as metric families: pools, replicas, lanes and calibration counters.
//
// Pure: a function of its arguments. Private to router/telemetry (it exposes prometheus-cpp).
#ifndef PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "router/core/contract/admission_core.h"
#include "router/telemetry/registry/metric_list.h"

namespace penstock {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A family of the metric without samples. Histograms are not allowed.
prometheus::MetricFamily FamilyOf(const Metric& metric);
// Adds one sample; returns the family.
prometheus::MetricFamily& AddSample(prometheus::MetricFamily& family, const MetricLabels& labels, double value);

// `block_of_pool`: tokens per block of the pools that count tokens; 1 where a pool is missing. An engine report older
// than `stale_after` is stale. Families without samples are left out.
std::vector<prometheus::MetricFamily> ViewMetrics(const CoreView& view,
                                                  const std::map<std::string, Tokens>& block_of_pool,
                                                  Duration stale_after);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_
