// The counters, gauges and histograms of the router, one family per entry of the metric list.
//
// A family exists from its first series on. Thread-safe; each Add costs a lock and a lookup, so callers hold on to the
// series that they need often. Series stay where they are until the registry goes. Private to router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <vector>

#include "router/telemetry/registry/metric_list.h"

namespace penstock {

class MetricRegistry {
 public:
  using Labels = prometheus::Labels;
  using Buckets = prometheus::Histogram::BucketBoundaries;

  // The series of these labels; made when it is not there yet. The type must be that of the metric.
  prometheus::Counter& Counter(const Metric& metric, const Labels& labels = {});
  prometheus::Gauge& Gauge(const Metric& metric, const Labels& labels = {});
  prometheus::Histogram& Histogram(const Metric& metric, const Labels& labels, const Buckets& buckets);

  std::vector<prometheus::MetricFamily> Collect() const { return registry_.Collect(); }

 private:
  // Families of equal name are one.
  prometheus::Registry registry_{prometheus::Registry::InsertBehavior::Merge};
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_
