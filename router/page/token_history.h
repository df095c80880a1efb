// Delivered tokens per second over the last two minutes. One owner; no clock.
#ifndef PENSTOCK_ROUTER_PAGE_TOKEN_HISTORY_H_
#define PENSTOCK_ROUTER_PAGE_TOKEN_HISTORY_H_

#include <cstdint>
#include <deque>

#include "base/units.h"

namespace penstock {

// Sums since start.
struct TokenTotals {
  int64_t active = 0;
  int64_t late = 0;
  int64_t wasted = 0;
};

// Tokens per second between two samples.
struct TokenRates {
  double active = 0;
  double late = 0;
  double wasted = 0;
};

class TokenHistory {
 public:
  static constexpr size_t kKept = 120;

  void Sample(const TokenTotals& totals, Instant now) {
    const double seconds = (now - at_).seconds();
    if (sampled_ && seconds > 0) {
      rates_.push_back({Rate(totals.active, totals_.active, seconds), Rate(totals.late, totals_.late, seconds),
                        Rate(totals.wasted, totals_.wasted, seconds)});
      if (rates_.size() > kKept) rates_.pop_front();
    }
    sampled_ = true;
    totals_ = totals;
    at_ = now;
  }

  const TokenTotals& totals() const { return totals_; }
  // Oldest first.
  const std::deque<TokenRates>& rates() const { return rates_; }

 private:
  static double Rate(int64_t after, int64_t before, double seconds) {
    return static_cast<double>(after - before) / seconds;
  }

  bool sampled_ = false;
  TokenTotals totals_;
  Instant at_;
  std::deque<TokenRates> rates_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_PAGE_TOKEN_HISTORY_H_
