#include "router/core/residency/resident.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {

void Resident::Configure(const SleepSpec& spec) {
  after_ = spec.after;
  wake_.Configure(spec.wake);
  fall_.Configure(spec.wake);
}

void Resident::BeginReview(Presence& presence) {
  left_before_ = std::exchange(presence.leaving, false);
  wanted_before_ = std::exchange(presence.wanted, false);
}

void Resident::OrderSleep(Presence& presence, Instant now) {
  presence.leaving = false;
  presence.residency = Residency::kFallingAsleep;
  overdue_at_ = now + fall_.patience();
  ++counts_.sleeps;
}

void Resident::OrderWake(Presence& presence, Instant now) {
  presence.wanted = false;
  presence.residency = Residency::kWaking;
  presence.awake_at = now + wake_.expected();
  overdue_at_ = now + wake_.patience();
  ++counts_.wakes;
}

void Resident::Fail(Presence& presence, Instant now) {
  overdue_at_ = Instant::Never();
  const double pause = std::min(kMostPause, kFirstPause * std::pow(2, std::min(failures_, 10)));
  trusted_at_ = now + Duration::Seconds(pause);
  ++failures_;
  ++counts_.failures;
  presence.trusted = false;
  presence.wanted = false;
}

void Resident::Told(Presence& presence, const ReplicaResidency& event, Instant now) {
  const bool woke = presence.residency == Residency::kWaking && event.residency == Residency::kAwake;
  const bool under_way = event.residency == Residency::kWaking || event.residency == Residency::kFallingAsleep;
  const bool fell = presence.residency == Residency::kFallingAsleep && event.residency == Residency::kAsleep;
  if (woke && !event.failed && event.took > Duration()) wake_.Observe(event.took);
  if (fell && !event.failed && event.took > Duration()) fall_.Observe(event.took);
  if (event.residency == Residency::kAwake && !presence.awake()) awake_since_ = last_used_ = now;
  presence.residency = event.residency;
  presence.leaving = presence.leaving && presence.awake();
  presence.wanted = presence.wanted && event.residency == Residency::kAsleep;
  presence.wake = wake_.expected();
  if (event.residency == Residency::kWaking) presence.awake_at = now + wake_.expected();
  if (event.failed) return Fail(presence, now);
  overdue_at_ = under_way ? now + wake_.patience() : Instant::Never();
  presence.trusted = true;
  trusted_at_ = Instant::Never();
  if (event.residency == Residency::kAwake) failures_ = 0;
}

bool Resident::GiveUpAt(Presence& presence, Instant now) {
  if (now < overdue_at_) return false;
  Fail(presence, now);
  // Nothing is ordered before the edge tells the end of the order.
  trusted_at_ = Instant::Never();
  return true;
}

bool Resident::TrustAgainAt(Presence& presence, Instant now) {
  if (now < trusted_at_) return false;
  trusted_at_ = Instant::Never();
  return !std::exchange(presence.trusted, true);
}

Instant Resident::NextChange(const Presence& presence) const {
  return std::min(overdue_at_, presence.trusted ? Instant::Never() : trusted_at_);
}

}  // namespace penstock
