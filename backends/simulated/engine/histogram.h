// A Prometheus histogram as plain numbers. One owner, not thread-safe.
#ifndef PENSTOCK_BACKENDS_SIMULATED_HISTOGRAM_H_
#define PENSTOCK_BACKENDS_SIMULATED_HISTOGRAM_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace penstock::simulated {

class Histogram {
 public:
  // `bounds` are upper bounds in ascending order, without infinity.
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Add(double value) {
    const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<size_t>(bound - bounds_.begin())];
    sum_ += value;
  }

  const std::vector<double>& bounds() const { return bounds_; }
  // The count of each bucket alone. The last bucket has no bound.
  const std::vector<int64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_HISTOGRAM_H_
