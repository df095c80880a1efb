#include "router/telemetry/handovers/handover_metrics.h"

#include "absl/strings/string_view.h"
#include "router/telemetry/registry/metric_list.h"

namespace penstock {
namespace {

// From a cached prompt to one of a million tokens.
const MetricRegistry::Buckets kPrefillBuckets = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 180};

}  // namespace

void HandoverMetrics::StartAtZero(const std::string& replica) {
  for (const absl::string_view result : kHandoverLabels) {
    registry_.Counter(MetricNamed("penstock_handovers_total"), {{"replica", replica}, {"result", std::string(result)}});
  }
}

void HandoverMetrics::OnEnd(const std::string& replica, HandoverEnd end, Duration took) {
  registry_
      .Counter(MetricNamed("penstock_handovers_total"), {{"replica", replica}, {"result", std::string(LabelOf(end))}})
      .Increment();
  if (end != HandoverEnd::kHandedOver) return;
  registry_.Histogram(MetricNamed("penstock_prefill_seconds"), {{"replica", replica}}, kPrefillBuckets)
      .Observe(took.seconds());
}

}  // namespace penstock
