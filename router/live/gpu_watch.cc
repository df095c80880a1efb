#include "router/live/gpu_watch.h"

#include <utility>
#include <variant>

namespace penstock {

void GpuWatch::Observe(const Event& event, Instant now, const std::vector<Action>& actions) {
  std::lock_guard lock(mutex_);
  if (const auto* changed = std::get_if<FleetChanged>(&event)) {
    const Fleet& fleet = changed->fleet;
    accounts_.Place(PlacesOf(fleet), fleet.models.size(), now);
    names_.clear();
    for (const GpuSpec& gpu : fleet.gpus) names_.push_back(gpu.name);
    present_.assign(names_.size(), false);
    for (const ReplicaSpec& replica : fleet.replicas) {
      for (const uint32_t gpu : replica.gpus) {
        if (gpu < present_.size() && !replica.removed) present_[gpu] = true;
      }
    }
    Price(now);
  }
  book_.Observe(event, now, actions);
}

void GpuWatch::Sample(std::span<const int64_t> late, Instant now) {
  std::lock_guard lock(mutex_);
  book_.Sample(late, now);
}

void GpuWatch::SetPrices(std::map<std::string, double> prices, Instant now) {
  std::lock_guard lock(mutex_);
  prices_ = std::move(prices);
  Price(now);
}

void GpuWatch::Price(Instant now) {
  for (size_t gpu = 0; gpu < names_.size(); ++gpu) accounts_.SetPrice(gpu, PriceOf(names_[gpu]), now);
}

double GpuWatch::PriceOf(const std::string& name) const {
  const auto found = prices_.find(name);
  return found == prices_.end() ? 0 : found->second;
}

GpuReport GpuWatch::Report(Instant now) const {
  std::lock_guard lock(mutex_);
  accounts_.SettleAll(now);
  GpuReport report;
  for (size_t gpu = 0; gpu < accounts_.gpus() && gpu < names_.size(); ++gpu) {
    report.gpus.push_back({names_[gpu], accounts_.time(gpu), PriceOf(names_[gpu]), present_[gpu]});
  }
  report.recomputed_tokens = book_.recomputed_tokens();
  return report;
}

}  // namespace penstock
