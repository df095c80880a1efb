#include "router/telemetry/registry/metric_registry.h"

#include <cassert>
#include <string>

namespace penstock {
namespace {

template <class Builder>
auto& FamilyOf(Builder builder, const Metric& metric, prometheus::Registry& registry) {
  return builder.Name(std::string(metric.name)).Help(std::string(metric.help)).Register(registry);
}

}  // namespace

prometheus::Counter& MetricRegistry::Counter(const Metric& metric, const Labels& labels) {
  assert(metric.type == MetricType::kCounter);
  return FamilyOf(prometheus::BuildCounter(), metric, registry_).Add(labels);
}

prometheus::Gauge& MetricRegistry::Gauge(const Metric& metric, const Labels& labels) {
  assert(metric.type == MetricType::kGauge);
  return FamilyOf(prometheus::BuildGauge(), metric, registry_).Add(labels);
}

prometheus::Histogram& MetricRegistry::Histogram(const Metric& metric, const Labels& labels, const Buckets& buckets) {
  assert(metric.type == MetricType::kHistogram);
  return FamilyOf(prometheus::BuildHistogram(), metric, registry_).Add(labels, buckets);
}

}  // namespace penstock
