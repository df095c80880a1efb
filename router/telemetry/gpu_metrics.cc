#include "router/telemetry/gpu_metrics.h"

#include <string>
#include <utility>

#include "router/telemetry/registry/metric_registry.h"
#include "router/telemetry/view_metrics.h"

namespace penstock {

namespace {

// Families without samples are left out, such as pools in tokens where every pool is in bytes.
void AddStranded(const GpuReport& report, std::vector<prometheus::MetricFamily>& families) {
  prometheus::MetricFamily bytes = FamilyOf(MetricNamed("penstock_pool_stranded_bytes"));
  prometheus::MetricFamily tokens = FamilyOf(MetricNamed("penstock_pool_stranded_tokens"));
  prometheus::MetricFamily byte_sum = FamilyOf(MetricNamed("penstock_pool_stranded_byte_seconds_total"));
  prometheus::MetricFamily token_sum = FamilyOf(MetricNamed("penstock_pool_stranded_token_seconds_total"));
  prometheus::MetricFamily waited = FamilyOf(MetricNamed("penstock_pool_memory_wait_seconds_total"));
  for (const StrandedMemory& pool : report.pools) {
    if (pool.name.empty()) continue;
    const MetricLabels labels = {{"pool", pool.name}};
    AddSample(pool.in_bytes ? bytes : tokens, labels, pool.now);
    AddSample(pool.in_bytes ? byte_sum : token_sum, labels, pool.amount_seconds);
    AddSample(waited, labels, pool.seconds);
  }
  for (prometheus::MetricFamily* family : {&bytes, &tokens, &byte_sum, &token_sum, &waited}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

}  // namespace

std::vector<prometheus::MetricFamily> GpuMetrics(const GpuReport& report, const WastedTokens& wasted) {
  prometheus::MetricFamily seconds = FamilyOf(MetricNamed("penstock_gpu_seconds_total"));
  prometheus::MetricFamily input = FamilyOf(MetricNamed("penstock_gpu_input_wait_seconds_total"));
  prometheus::MetricFamily cost = FamilyOf(MetricNamed("penstock_gpu_cost_total"));
  prometheus::MetricFamily outside = FamilyOf(MetricNamed("penstock_gpu_memory_outside_pools_bytes"));
  prometheus::MetricFamily waste = FamilyOf(MetricNamed("penstock_wasted_tokens_total"));
  for (const GpuReport::Gpu& gpu : report.gpus) {
    if (gpu.name.empty()) continue;
    for (size_t i = 0; i < kGpuStates; ++i) {
      AddSample(seconds, {{"gpu", gpu.name}, {"state", std::string(kGpuStateLabels[i])}}, gpu.time.seconds[i]);
    }
    AddSample(input, {{"gpu", gpu.name}}, gpu.time.waiting_for_input());
    if (gpu.outside_pools) AddSample(outside, {{"gpu", gpu.name}}, gpu.outside_pools->AsDouble());
    if (gpu.price > 0 || gpu.time.cost > 0) AddSample(cost, {{"gpu", gpu.name}}, gpu.time.cost);
  }
  for (size_t i = 0; i < wasted.size(); ++i) {
    AddSample(waste, {{"cause", std::string(WasteCause(i))}}, static_cast<double>(wasted[i]));
  }
  AddSample(waste, {{"cause", "recomputed"}}, static_cast<double>(report.recomputed_tokens));
  std::vector<prometheus::MetricFamily> families;
  for (prometheus::MetricFamily* family : {&seconds, &input, &cost, &outside, &waste}) {
    families.push_back(std::move(*family));
  }
  AddStranded(report, families);
  return families;
}

}  // namespace penstock
