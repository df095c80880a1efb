// The highest load that a fleet sustains, by bisection.
#ifndef PENSTOCK_BENCH_SIMULATION_SEARCH_CAPACITY_SEARCH_H_
#define PENSTOCK_BENCH_SIMULATION_SEARCH_CAPACITY_SEARCH_H_

#include <functional>

namespace penstock::bench {

struct CapacitySearch {
  double on_time = 0.99;    // Share of feasible requests that must be on time.
  double start = 1;         // First rate tried.
  double tolerance = 0.02;  // Relative width at which the search ends.
  double lowest = 1.0 / 1024;
  double highest = 1024;
};

// Highest rate at which `share_on_time(rate)` is at least `on_time`; the share is taken to fall with the rate. The
// search raises or lowers the rate in growing steps from the start until the answer is enclosed. Then it bisects. 0
// when even `lowest` fails; `highest` when that passes. About a dozen calls; half as many from a start near the answer.
double HighestRate(const CapacitySearch& search, const std::function<double(double)>& share_on_time);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_SEARCH_CAPACITY_SEARCH_H_
