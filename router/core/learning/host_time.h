// The part of a first token's time that no step explains: the API server, its tokenizer and the network.
//
// Only a request that is alone on its replica tells it: its own steps are the only ones. The constant is the lower
// quartile of the last residuals, so pauses of a busy machine do not count. A few residuals say nothing yet.
// Invariant: 0 <= seconds() <= kMost. Owned by ReplicaState. Observe is O(kWindow), seconds() O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_HOST_TIME_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_HOST_TIME_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace penstock {

class HostTime {
 public:
  // Seconds. Beyond, the engine does something else, such as to wake.
  static constexpr double kMost = 0.5;
  // Residuals that count. Untuned: no table in bench/results varies it, nor the two below.
  static constexpr size_t kWindow = 16;
  static constexpr size_t kFewest = 4;  // Below, the constant is 0.

  double seconds() const { return seconds_; }

  // A lone request got its first token so many seconds later than its steps explain; negative where it came earlier.
  void Observe(double residual) {
    if (std::isnan(residual)) return;
    residuals_[seen_++ % kWindow] = std::clamp(residual, 0.0, kMost);
    const size_t count = std::min(seen_, kWindow);
    if (count < kFewest) return;
    std::array<double, kWindow> sorted = residuals_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
    seconds_ = sorted[count / 4];
  }

 private:
  std::array<double, kWindow> residuals_{};  // A ring.
  size_t seen_ = 0;
  double seconds_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_HOST_TIME_H_
