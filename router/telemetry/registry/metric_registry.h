// The counters, gauges and histograms of the router, one family per entry of the metric list.
//
// A family exists from its first series on. Thread-safe; each call costs a lock and a lookup, so callers hold on to the
// series that they need often. A series stays where it is until Retire or the end of the registry. Private to
// router/telemetry.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_
#define PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "router/telemetry/registry/metric_list.h"

namespace penstock {

class MetricRegistry {
 public:
  using Labels = prometheus::Labels;
  using Buckets = prometheus::Histogram::BucketBoundaries;

  MetricRegistry();
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // The series of these labels; made when it is not there yet. The type must be that of the metric.
  prometheus::Counter& Counter(const Metric& metric, const Labels& labels = {});
  prometheus::Gauge& Gauge(const Metric& metric, const Labels& labels = {});
  prometheus::Histogram& Histogram(const Metric& metric, const Labels& labels, const Buckets& buckets);

  // Ends the series of these labels; nobody may hold on to one. They begin at zero when they are needed again. Costs
  // O(series).
  void Retire(const std::function<bool(const Labels&)>& ends);

  // Families in the order of their names; none is empty.
  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  class Family;
  template <class Series>
  class FamilyOf;

  template <class Series>
  FamilyOf<Series>& Find(const Metric& metric);
  std::vector<Family*> Families() const;

  mutable std::mutex mutex_;                                     // Guards the map.
  std::map<std::string_view, std::unique_ptr<Family>> by_name_;  // Families stay.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REGISTRY_METRIC_REGISTRY_H_
