// The spread of a pool's forecast errors over the spread that its forecasts claim.
//
// The factor follows the 90 % quantile of |error| over the claimed band. An error outside the band raises it by nine
// times what one inside lowers it. So 90 % of them lie inside in the long run, whatever their distribution. Invariant:
// kLeast <= factor() <= kMost. Owned by PoolState, one per horizon. A value; no clock. O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_CALIBRATION_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_CALIBRATION_H_

#include <algorithm>
#include <cmath>

namespace penstock {

class Calibration {
 public:
  static constexpr double kCovered = 0.9;
  // Standard deviations within which that part of normal errors lies.
  static constexpr double kBand = 1.645;
  static constexpr double kLeast = 0.5;
  static constexpr double kMost = 8;
  // Before the first comparison. Untuned.
  static constexpr double kFirst = 1.5;

  double factor() const { return factor_; }
  // A forecast that claimed the standard deviation `claimed` was off by `error`.
  void Observe(double error, double claimed) {
    if (claimed <= 0) return;
    const bool outside = std::abs(error) > kBand * factor_ * claimed;
    factor_ = std::clamp(factor_ * std::exp(gain_ * (outside ? kCovered : kCovered - 1)), kLeast, kMost);
    gain_ = std::max(kLeastGain, gain_ * kSlower);
  }

 private:
  static constexpr double kFirstGain = 0.5;
  static constexpr double kLeastGain = 0.15;
  // Each observation says a little less than the one before.
  static constexpr double kSlower = 0.9;

  double factor_ = kFirst;
  double gain_ = kFirstGain;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_CALIBRATION_H_
