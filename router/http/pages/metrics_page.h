// The text of /metrics: what telemetry counted, the core's view, and how full every bounded thing is.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_METRICS_PAGE_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_METRICS_PAGE_H_

#include <string>

#include "config/config.h"
#include "router/live/event_loop.h"

namespace penstock {

// Any thread. `book`: the fleet of the newest configuration; null leaves the memory outside of pools out.
std::string MetricsPage(const Edge& edge, const LimitsConfig& limits, const FleetBook* book);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_METRICS_PAGE_H_
