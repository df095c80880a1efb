#include "router/telemetry/registry/metric_registry.h"

#include <cassert>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace penstock {
namespace {

prometheus::MetricType TypeOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

class MetricRegistry::Family {
 public:
  explicit Family(const Metric& metric) : metric_(metric) {}
  virtual ~Family() = default;
  virtual prometheus::MetricFamily Collect() const = 0;
  virtual void Retire(const std::function<bool(const Labels&)>& ends) = 0;

 protected:
  prometheus::MetricFamily Empty() const {
    return {std::string(metric_.name), std::string(metric_.help), TypeOf(metric_.type), {}};
  }
  mutable std::mutex mutex_;  // Guards the series.

 private:
  const Metric metric_;
};

template <class Series>
class MetricRegistry::FamilyOf : public Family {
 public:
  using Family::Family;

  template <class... Arguments>
  Series& Add(const Labels& labels, const Arguments&... arguments) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<Series>& series = series_[labels];
    if (series == nullptr) series = std::make_unique<Series>(arguments...);
    return *series;
  }

  prometheus::MetricFamily Collect() const override {
    prometheus::MetricFamily family = Empty();
    std::lock_guard lock(mutex_);
    family.metric.reserve(series_.size());
    for (const auto& [labels, series] : series_) {
      family.metric.push_back(series->Collect());
      for (const auto& [name, value] : labels) family.metric.back().label.push_back({name, value});
    }
    return family;
  }

  void Retire(const std::function<bool(const Labels&)>& ends) override {
    std::lock_guard lock(mutex_);
    absl::erase_if(series_, [&ends](const auto& entry) { return ends(entry.first); });
  }

 private:
  absl::flat_hash_map<Labels, std::unique_ptr<Series>> series_;
};

MetricRegistry::MetricRegistry() = default;
MetricRegistry::~MetricRegistry() = default;

template <class Series>
MetricRegistry::FamilyOf<Series>& MetricRegistry::Find(const Metric& metric) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<Family>& family = by_name_[metric.name];
  if (family == nullptr) family = std::make_unique<FamilyOf<Series>>(metric);
  return static_cast<FamilyOf<Series>&>(*family);
}

prometheus::Counter& MetricRegistry::Counter(const Metric& metric, const Labels& labels) {
  assert(metric.type == MetricType::kCounter);
  return Find<prometheus::Counter>(metric).Add(labels);
}

prometheus::Gauge& MetricRegistry::Gauge(const Metric& metric, const Labels& labels) {
  assert(metric.type == MetricType::kGauge);
  return Find<prometheus::Gauge>(metric).Add(labels);
}

prometheus::Histogram& MetricRegistry::Histogram(const Metric& metric, const Labels& labels, const Buckets& buckets) {
  assert(metric.type == MetricType::kHistogram);
  return Find<prometheus::Histogram>(metric).Add(labels, buckets);
}

std::vector<MetricRegistry::Family*> MetricRegistry::Families() const {
  std::vector<Family*> families;
  std::lock_guard lock(mutex_);
  families.reserve(by_name_.size());
  for (const auto& [name, family] : by_name_) families.push_back(family.get());
  return families;
}

void MetricRegistry::Retire(const std::function<bool(const Labels&)>& ends) {
  for (Family* family : Families()) family->Retire(ends);
}

std::vector<prometheus::MetricFamily> MetricRegistry::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const Family* family : Families()) {
    prometheus::MetricFamily collected = family->Collect();
    if (!collected.metric.empty()) families.push_back(std::move(collected));
  }
  return families;
}

}  // namespace penstock
