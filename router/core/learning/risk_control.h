// The number of standard deviations of growth that a pool keeps free, z, set by the preemptions that happen.
//
// Every 250 ms z += 0.02 x (preemptions - 0.005 x dispatched), within 0.7 to 2, from 1.5: aims at half a percent of
// requests preempted. Higher gains and lower floors oscillated on long outputs in the reference simulation. A pool
// whose overflow is fatal has kFatalZ instead: one overflow costs every running request. Invariant: z stays in its
// range. A value; no clock. All methods are O(1).
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_RISK_CONTROL_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_RISK_CONTROL_H_

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace penstock {

class RiskControl {
 public:
  static constexpr double kFatalZ = 2.5;
  static constexpr Duration kPeriod = Duration::Milliseconds(250);

  explicit RiskControl(bool fatal = false) : fatal_(fatal) {}

  double z() const { return fatal_ ? kFatalZ : z_; }
  // The least z until the next dispatch. Only dispatches lower it, and each counts in one period.
  double least_z() const { return fatal_ ? kFatalZ : std::min(z_, Next()); }
  void Preempted(int64_t count) { preempted_ += count; }
  void Dispatched() { ++dispatched_; }

  // Applies the periods that have passed.
  void Tick(Instant now) {
    if (now - ticked_at_ < kPeriod) return;
    ticked_at_ = now;
    z_ = Next();
    preempted_ = dispatched_ = 0;
  }

 private:
  double Next() const {
    return std::clamp(z_ + 0.02 * (static_cast<double>(preempted_) - 0.005 * static_cast<double>(dispatched_)), 0.7,
                      2.0);
  }

  bool fatal_ = false;
  double z_ = 1.5;
  int64_t preempted_ = 0;
  int64_t dispatched_ = 0;
  Instant ticked_at_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_RISK_CONTROL_H_
