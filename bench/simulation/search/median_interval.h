// The median of repeated measurements, and an interval that says how far to trust it. Pure.
#ifndef PENSTOCK_BENCH_SIMULATION_SEARCH_MEDIAN_INTERVAL_H_
#define PENSTOCK_BENCH_SIMULATION_SEARCH_MEDIAN_INTERVAL_H_

#include <cstddef>
#include <vector>

namespace penstock::bench {

struct MedianInterval {
  double median = 0;  // Of an even count, the lower of the two in the middle: a value that was measured.
  double low = 0;
  double high = 0;
};

// The narrowest pair of order statistics, symmetric about the middle, between which the true median lies with a chance
// of 90 % or more. No distribution is assumed. Fewer than five values have no such pair, and give their least and
// greatest one. Precondition: there are values. O(n log n).
MedianInterval MedianIntervalOf(std::vector<double> values);
// The position of the median in the order of MedianIntervalOf.
constexpr size_t MedianPosition(size_t count) { return (count - 1) / 2; }

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_SEARCH_MEDIAN_INTERVAL_H_
