// The GPUs' time, its cost and the wasted tokens as metric families.
//
// Pure: a function of its arguments. Private to router/telemetry (it exposes prometheus-cpp).
#ifndef PENSTOCK_ROUTER_TELEMETRY_GPU_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_GPU_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "router/core/accounts/gpu_report.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

// Families without samples are empty.
std::vector<prometheus::MetricFamily> GpuMetrics(const GpuReport& report, const WastedTokens& wasted);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_GPU_METRICS_H_
