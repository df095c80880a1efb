#include "bench/simulation/search/median_interval.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace penstock::bench {
namespace {

constexpr double kCoverage = 0.9;

// The number of values that an interval leaves out at either end.
size_t LeftOut(size_t count) {
  // A value is below the median with a chance of one half: the tails are those of a binomial.
  const auto n = static_cast<double>(count);
  double tail = 0;
  double term = std::exp2(-n);  // Chance that exactly `k` of the values are below.
  for (size_t k = 0; 2 * k + 1 < count; ++k) {
    tail += term;
    if (1 - 2 * tail < kCoverage) return k == 0 ? 0 : k - 1;
    term *= (n - static_cast<double>(k)) / static_cast<double>(k + 1);
  }
  return 0;
}

}  // namespace

MedianInterval MedianIntervalOf(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t out = LeftOut(values.size());
  return {values[MedianPosition(values.size())], values[out], values[values.size() - 1 - out]};
}

}  // namespace penstock::bench
