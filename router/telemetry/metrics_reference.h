// Every metric as Markdown: docs/metrics.md.
#ifndef PENSTOCK_ROUTER_TELEMETRY_METRICS_REFERENCE_H_
#define PENSTOCK_ROUTER_TELEMETRY_METRICS_REFERENCE_H_

#include <string>

namespace penstock {

// Pure. `penstock reference metrics > docs/metrics.md` writes the committed file; a test fails when it is stale.
std::string MetricsReference();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_METRICS_REFERENCE_H_
