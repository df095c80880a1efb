// The declaration of one metric. A value.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct Metric {
  std::string_view group;  // Heading in the reference.
  std::string_view name;
  MetricType type;
  std::string_view labels;  // Names in alphabetical order, one space between.
  std::string_view help;
};

// The metric of this name in a list; null: it has none.
constexpr const Metric* FindMetric(std::span<const Metric> list, std::string_view name) {
  for (const Metric& metric : list) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_H_
