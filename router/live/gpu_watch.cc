#include "router/live/gpu_watch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Some microseconds.
constexpr size_t kSettledAtOnce = 64;

}  // namespace

void GpuWatch::Observe(const Event& event, Instant now, const std::vector<Action>& actions) {
  std::lock_guard lock(mutex_);
  if (const auto* changed = std::get_if<FleetChanged>(&event)) {
    const Fleet& fleet = changed->fleet;
    accounts_.Place(PlacesOf(fleet), fleet.models.size(), now);
    auto names = std::make_shared<std::vector<std::string>>();
    for (size_t gpu = 0; gpu < fleet.gpus.size(); ++gpu) {
      names->push_back(fleet.gpus[gpu].name);
      if (IsVacant(fleet.gpus[gpu])) accounts_.Vacate(gpu, now);
    }
    names_ = std::move(names);
    present_.assign(names_->size(), false);
    for (const ReplicaSpec& replica : fleet.replicas) {
      for (const uint32_t gpu : replica.gpus) {
        if (gpu < present_.size() && !replica.removed) present_[gpu] = true;
      }
    }
    stranded_.Configure(fleet.pools, now);
    Price(now);
  }
  book_.Observe(event, now, actions);
}

void GpuWatch::Sample(std::span<const int64_t> late, const MemoryWaits& waits, Instant now) {
  std::lock_guard lock(mutex_);
  book_.Sample(late, waits, now);
  stranded_.Sample(waits, now);
}

void GpuWatch::SetPrices(std::map<std::string, double> prices, Instant now) {
  std::lock_guard lock(mutex_);
  prices_ = std::move(prices);
  Price(now);
}

void GpuWatch::Price(Instant now) {
  for (size_t gpu = 0; gpu < names_->size(); ++gpu) accounts_.SetPrice(gpu, PriceOf((*names_)[gpu]), now);
}

double GpuWatch::PriceOf(const std::string& name) const {
  const auto found = prices_.find(name);
  return found == prices_.end() ? 0 : found->second;
}

GpuReport GpuWatch::Report(Instant now) const {
  // The core waits for this mutex, so it is held for some GPUs at a time. Names are copied without it.
  std::shared_ptr<const std::vector<std::string>> names;
  GpuReport report;
  size_t gpus = 0;
  {
    std::lock_guard lock(mutex_);
    names = names_;
    gpus = std::min(accounts_.gpus(), names_->size());
    report.gone = accounts_.gone();
    report.recomputed_tokens = book_.recomputed_tokens();
    stranded_.Settle(now);
    report.pools = stranded_.pools();
  }
  report.gpus.resize(gpus);
  for (size_t first = 0; first < gpus; first += kSettledAtOnce) {
    std::lock_guard lock(mutex_);
    accounts_.SettleSome(first, kSettledAtOnce, now);
    for (size_t gpu = first; gpu < std::min(gpus, first + kSettledAtOnce); ++gpu) {
      report.gpus[gpu].time = accounts_.time(gpu);
      report.gpus[gpu].price = accounts_.price(gpu);
      report.gpus[gpu].present = gpu < present_.size() && present_[gpu];
    }
  }
  for (size_t gpu = 0; gpu < gpus; ++gpu) report.gpus[gpu].name = (*names)[gpu];
  return report;
}

}  // namespace penstock
