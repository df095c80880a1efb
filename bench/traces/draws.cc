#include "bench/traces/draws.h"

#include <algorithm>
#include <cmath>

namespace penstock::bench {

Tokens Between(double value, int64_t low, int64_t high) {
  return Tokens(std::clamp<int64_t>(std::llround(value), low, high));
}

std::vector<double> PoissonArrivals(double length, double highest, const std::function<double(double)>& rate,
                                    Generator& generator) {
  std::vector<double> arrivals;
  for (double at = generator.Exponential(1 / highest); at < length; at += generator.Exponential(1 / highest)) {
    if (generator.Uniform() * highest < rate(at)) arrivals.push_back(at);
  }
  return arrivals;
}

}  // namespace penstock::bench
