// Sums of what requests were worth, and the spread of their first tokens. Values; adding costs O(1).
#ifndef PENSTOCK_ROUTER_SHADOW_SERVICE_SUMS_H_
#define PENSTOCK_ROUTER_SHADOW_SERVICE_SUMS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "router/shadow/service.h"

namespace penstock {

// Times in buckets that are 10 % wide, from a millisecond to twenty minutes.
class TimeSpread {
 public:
  void Add(double seconds) {
    const double bucket = std::log(std::max(seconds, kLeast) / kLeast) / std::log(kWidth);
    ++counts_[std::min(counts_.size() - 1, static_cast<size_t>(bucket))];
    ++total_;
  }
  // The time that this share of all stays within; nullopt without any.
  std::optional<double> Quantile(double share) const {
    if (total_ == 0) return std::nullopt;
    int64_t left = static_cast<int64_t>(std::ceil(share * static_cast<double>(total_)));
    for (size_t i = 0; i < counts_.size(); ++i) {
      left -= counts_[i];
      if (left <= 0) return kLeast * std::pow(kWidth, static_cast<double>(i) + 0.5);
    }
    return std::nullopt;
  }

 private:
  static constexpr double kLeast = 1e-3;
  static constexpr double kWidth = 1.1;
  std::array<int64_t, 147> counts_{};
  int64_t total_ = 0;
};

struct ServiceSums {
  int64_t requests = 0;
  int64_t on_time = 0;
  int64_t refused = 0;
  int64_t failed = 0;
  double active = 0;  // Tokens.
  double late = 0;
  double abandoned = 0;
  TimeSpread ttft;

  void Add(const Service& service, bool was_refused) {
    ++requests;
    on_time += service.on_time ? 1 : 0;
    refused += was_refused ? 1 : 0;
    failed += !was_refused && !service.finished ? 1 : 0;
    active += service.active;
    late += service.late;
    abandoned += service.abandoned;
    if (service.ttft) ttft.Add(*service.ttft);
  }
  double OnTimeShare() const {
    return requests == 0 ? 0 : static_cast<double>(on_time) / static_cast<double>(requests);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SHADOW_SERVICE_SUMS_H_
