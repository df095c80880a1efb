// The time that a replica takes to wake, learned from its wakes.
//
// A decaying mean and a decaying mean deviation. The expected time is both together, so most wakes end within it.
// Before the first wake it is the configured time. Invariant: the expected time is positive. Owned by Resident. O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_WAKE_TIME_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_WAKE_TIME_H_

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace penstock {

class WakeTime {
 public:
  // The weight of the newest wake.
  static constexpr double kWeight = 0.25;
  // The edge ends each order within the configured timeout. An order whose end got lost counts as failed after so many
  // times the expected time, and not within kLeastPatience seconds.
  static constexpr double kPatience = 5;
  static constexpr double kLeastPatience = 900;

  explicit WakeTime(Duration configured = Duration::Seconds(1)) { Configure(configured); }

  // The configured time changed; it counts while nothing was measured.
  void Configure(Duration configured) { configured_ = std::max(kLeast, configured.seconds()); }
  void Observe(Duration took) {
    const double seconds = std::max(kLeast, took.seconds());
    deviation_ = measured_ ? (1 - kWeight) * deviation_ + kWeight * std::abs(seconds - mean_) : 0;
    mean_ = measured_ ? (1 - kWeight) * mean_ + kWeight * seconds : seconds;
    measured_ = true;
  }

  Duration expected() const { return Duration::Seconds(measured_ ? mean_ + deviation_ : configured_); }
  // An order without an end counts as failed after so long.
  Duration patience() const { return Duration::Seconds(std::max(kLeastPatience, kPatience * expected().seconds())); }

 private:
  static constexpr double kLeast = 1e-3;

  double configured_ = 1;
  double mean_ = 0;
  double deviation_ = 0;
  bool measured_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_WAKE_TIME_H_
