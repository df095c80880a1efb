// The times that a replica takes to wake, learned for each level of its sleep.
//
// A sleep at a level that nobody knows counts as one that dropped the weights: its engine is woken so. Invariant: a
// replica that cannot drop its weights has one time. Owned by Resident. O(1).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_TIMES_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_TIMES_H_

#include <algorithm>

#include "base/residency.h"
#include "router/core/contract/fleet.h"
#include "router/core/learning/wake_time.h"

namespace penstock {

class WakeTimes {
 public:
  void Configure(const SleepSpec& spec) {
    kept_.Configure(spec.wake);
    dropped_.Configure(std::max(spec.wake, spec.wake_dropped));
    may_drop_ = spec.may_drop;
  }
  // The replica falls asleep at this level.
  void Sleep(SleepLevel level) { drops_ = Drops(level); }
  // A wake from the present sleep took so long.
  void Observe(Duration took) { (drops_ ? dropped_ : kept_).Observe(took); }

  bool may_drop() const { return may_drop_; }
  // From the present sleep, or from the last one.
  const WakeTime& present() const { return drops_ ? dropped_ : kept_; }
  const WakeTime& From(SleepLevel level) const { return Drops(level) ? dropped_ : kept_; }

 private:
  bool Drops(SleepLevel level) const { return may_drop_ && level != SleepLevel::kHost; }

  WakeTime kept_;
  WakeTime dropped_;
  bool may_drop_ = false;
  bool drops_ = false;  // The present sleep, or the last one, dropped the weights.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_TIMES_H_
