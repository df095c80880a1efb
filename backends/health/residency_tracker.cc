#include "backends/health/residency_tracker.h"

#include <utility>

namespace penstock {

void ResidencyTracker::Begin(bool waking, Instant now) {
  undoing_ = !waking && residency_ == Residency::kAsleep;
  residency_ = waking ? Residency::kWaking : Residency::kFallingAsleep;
  changed_ = now;
  doubts_ = 0;
}

Duration ResidencyTracker::End(bool ok, Instant now, bool holds) {
  const Duration took = now - changed_;
  const bool undone = std::exchange(undoing_, false);
  const bool awake = (residency_ == Residency::kWaking) == ok && !undone;
  holds_ = !awake && !ok && (undone || holds);
  residency_ = awake ? Residency::kAwake : Residency::kAsleep;
  changed_ = now;
  known_ = true;
  return took;
}

ResidencyTracker::Finding ResidencyTracker::Saw(bool asleep, Instant asked) {
  if (busy() || asked < changed_) return Finding::kNothing;
  const Residency said = asleep ? Residency::kAsleep : Residency::kAwake;
  if (!known_) return Set(said, asked) ? Finding::kChanged : Finding::kNothing;
  if (said == Residency::kAwake) distrusted_ = false;
  if (said == residency_ || distrusted_) {
    doubts_ = 0;
    return Finding::kNothing;
  }
  if (doubts_++ == 0) {
    doubted_ = asked;
    return Finding::kNothing;
  }
  if (asleep && token_ > doubted_) {
    distrusted_ = true;
    doubts_ = 0;
    return Finding::kLies;
  }
  Set(said, asked);
  return Finding::kChanged;
}

bool ResidencyTracker::Set(Residency residency, Instant now) {
  known_ = true;
  doubts_ = 0;
  if (residency == residency_) return false;
  holds_ = false;
  residency_ = residency;
  changed_ = now;
  return true;
}

bool ResidencyTracker::Gone(Instant now) {
  const bool held = std::exchange(holds_, false);
  return Set(Residency::kAsleep, now) || held;
}

void ResidencyTracker::Forget() {
  known_ = false;
  distrusted_ = false;
  doubts_ = 0;
}

}  // namespace penstock
