// The share of the KV memory that is stranded (core/accounts/stranded_book.h), by slice of a run. Pure; one owner.
#ifndef PENSTOCK_BENCH_SIMULATION_STRANDED_SERIES_H_
#define PENSTOCK_BENCH_SIMULATION_STRANDED_SERIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "router/core/accounts/gpu_report.h"
#include "router/core/contract/fleet.h"

namespace penstock::bench {

class StrandedSeries {
 public:
  static constexpr size_t kSlices = 240;

  // `window` is the time that the slices divide.
  explicit StrandedSeries(Duration window)
      : slice_(Duration::Nanoseconds(std::max<int64_t>(1, window.nanoseconds() / static_cast<int64_t>(kSlices)))),
        seconds_(kSlices, 0) {}

  // `pools` as they are from `now` on. The mean over the pools counts: they may have different units.
  void Take(const std::vector<StrandedMemory>& pools, const std::vector<PoolSpec>& specs, Instant now) {
    MoveTo(now);
    share_ = 0;
    for (size_t i = 0; i < std::min(pools.size(), specs.size()); ++i) {
      share_ += pools[i].now / std::max(1.0, specs[i].capacity.AsDouble()) / static_cast<double>(pools.size());
    }
  }
  // The mean of each slice up to `now`.
  std::vector<double> Slices(Instant now) {
    MoveTo(now);
    std::vector<double> means = seconds_;
    for (double& mean : means) mean /= slice_.seconds();
    return means;
  }

 private:
  void MoveTo(Instant now) {
    while (at_ < now) {
      const auto slice = static_cast<size_t>((at_ - Instant()).nanoseconds() / slice_.nanoseconds());
      if (slice >= kSlices) break;
      const Instant end = std::min(now, Instant() + slice_ * static_cast<int64_t>(slice + 1));
      seconds_[slice] += share_ * (end - at_).seconds();
      at_ = end;
    }
    at_ = std::max(at_, now);
  }

  const Duration slice_;
  std::vector<double> seconds_;  // Share x seconds.
  double share_ = 0;
  Instant at_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_STRANDED_SERIES_H_
