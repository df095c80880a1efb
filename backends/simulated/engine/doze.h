// The idle time of a simulated engine that gives its memory back by itself: the next request wakes it.
//
// No clock of its own. Its owner calls End() at the time that it tells. A value; used on one thread.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_DOZE_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_DOZE_H_

#include <functional>
#include <optional>
#include <utility>

#include "base/units.h"
#include "config/config.h"

namespace penstock::simulated {

class Doze {
 public:
  // Without times it never dozes. An engine is used at its start.
  Doze(const std::optional<SleepConfig>& times, double time_scale, Instant start)
      : times_(times), time_scale_(time_scale), used_at_(start) {}

  // `wakes_at` is called with the time at which the wake ends. Without it, the engine never dozes.
  void OnWake(std::function<void(Instant wakes_at)> wakes_at) { wakes_at_ = std::move(wakes_at); }
  // The engine works, or a request came.
  void Use(Instant now) { used_at_ = now; }
  // A request came to an engine that had none: it wakes where it was idle for long.
  void Rouse(Instant now) {
    const double idle = (now - std::exchange(used_at_, now)).seconds() * time_scale_;
    if (!times_ || waking_ || !wakes_at_ || idle < times_->after.seconds()) return;
    waking_ = true;
    wakes_at_(now + Duration::Seconds(times_->wake.seconds() / time_scale_));
  }
  bool waking() const { return waking_; }
  void End() { waking_ = false; }

 private:
  std::optional<SleepConfig> times_;
  double time_scale_ = 1;
  Instant used_at_;
  bool waking_ = false;
  std::function<void(Instant)> wakes_at_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_DOZE_H_
