// Turns the decision core's view into metric families: pools, replicas, lanes and calibration counters.
//
// Pure: a function of its arguments. Values of a pool in bytes end in _bytes; of one in tokens in _tokens, but for what
// its leases were told they may grow to, which is in the engine's blocks.
#ifndef PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "router/core/contract/admission_core.h"

namespace penstock {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A family with one more sample.
prometheus::MetricFamily& AddSample(prometheus::MetricFamily& family, const MetricLabels& labels, double value);

// `block_of_pool`: tokens per block of pools that count tokens; 1 where a pool is missing.
std::vector<prometheus::MetricFamily> ViewMetrics(const CoreView& view,
                                                  const std::map<std::string, Tokens>& block_of_pool,
                                                  Duration stale_after);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_VIEW_METRICS_H_
