#include "bench/simulation/search/capacity_search.h"

#include <algorithm>
#include <cmath>

namespace penstock::bench {
namespace {

constexpr double kFirstStep = 1.189207;  // A quarter of an octave.

}  // namespace

double HighestRate(const CapacitySearch& search, const std::function<double(double)>& share_on_time) {
  const auto carried = [&](double rate) { return share_on_time(rate) >= search.on_time; };
  double low = search.start;
  double high = search.start;
  // Short steps first: with few requests, a much lower rate cuts the trace at other bursts.
  double step = kFirstStep;
  if (carried(search.start)) {
    for (high = std::min(search.highest, low * step); carried(high); high = std::min(search.highest, low * step)) {
      if (high >= search.highest) return high;
      low = high;
      step = std::min(2.0, step * step);
    }
  } else {
    for (low /= step; low >= search.lowest && !carried(low); low /= step) {
      high = low;
      step = std::min(2.0, step * step);
    }
    if (low < search.lowest) return 0;
  }
  while (high / low > 1 + search.tolerance) {
    const double middle = std::sqrt(low * high);
    (carried(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace penstock::bench
