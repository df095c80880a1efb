// The findings of a shadow as the text of metrics.
#ifndef PENSTOCK_ROUTER_TELEMETRY_SHADOW_METRICS_H_
#define PENSTOCK_ROUTER_TELEMETRY_SHADOW_METRICS_H_

#include <string>

#include "router/shadow/shadow_report.h"

namespace penstock {

// The exposition text (version 0.0.4) of the families of the shadow. Pure.
std::string ShadowMetricsText(const ShadowReport& report);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_SHADOW_METRICS_H_
