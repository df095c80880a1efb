#include "router/telemetry/gpu_metrics.h"

#include <string>
#include <utility>

#include "router/telemetry/registry/metric_registry.h"
#include "router/telemetry/view_metrics.h"

namespace penstock {

std::vector<prometheus::MetricFamily> GpuMetrics(const GpuReport& report, const WastedTokens& wasted) {
  prometheus::MetricFamily seconds = FamilyOf(MetricNamed("penstock_gpu_seconds_total"));
  prometheus::MetricFamily input = FamilyOf(MetricNamed("penstock_gpu_input_wait_seconds_total"));
  prometheus::MetricFamily cost = FamilyOf(MetricNamed("penstock_gpu_cost_total"));
  prometheus::MetricFamily waste = FamilyOf(MetricNamed("penstock_wasted_tokens_total"));
  for (const GpuReport::Gpu& gpu : report.gpus) {
    if (gpu.name.empty()) continue;
    for (size_t i = 0; i < kGpuStates; ++i) {
      AddSample(seconds, {{"gpu", gpu.name}, {"state", std::string(kGpuStateLabels[i])}}, gpu.time.seconds[i]);
    }
    AddSample(input, {{"gpu", gpu.name}}, gpu.time.waiting_for_input());
    if (gpu.price > 0 || gpu.time.cost > 0) AddSample(cost, {{"gpu", gpu.name}}, gpu.time.cost);
  }
  for (size_t i = 0; i < wasted.size(); ++i) {
    AddSample(waste, {{"cause", std::string(WasteCause(i))}}, static_cast<double>(wasted[i]));
  }
  AddSample(waste, {{"cause", "recomputed"}}, static_cast<double>(report.recomputed_tokens));
  std::vector<prometheus::MetricFamily> families;
  for (prometheus::MetricFamily* family : {&seconds, &input, &cost, &waste}) {
    families.push_back(std::move(*family));
  }
  return families;
}

}  // namespace penstock
