// Draws that generated workloads share.
#ifndef PENSTOCK_BENCH_TRACES_DRAWS_H_
#define PENSTOCK_BENCH_TRACES_DRAWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "base/generator.h"
#include "base/units.h"

namespace penstock::bench {

// The nearest number of tokens within the bounds.
Tokens Between(double value, int64_t low, int64_t high);

// Arrivals of a Poisson process whose rate moves, by thinning. `rate` is at most `highest`.
std::vector<double> PoissonArrivals(double length, double highest, const std::function<double(double)>& rate,
                                    Generator& generator);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_TRACES_DRAWS_H_
