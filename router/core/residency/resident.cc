#include "router/core/residency/resident.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {

void Resident::Configure(const SleepSpec& spec) {
  after_ = spec.after;
  wakes_.Configure(spec);
  fall_.Configure(spec.wake);
}

void Resident::BeginReview(Presence& presence) {
  left_before_ = std::exchange(presence.leaving, false);
  wanted_before_ = std::exchange(presence.wanted, false);
  presence.lacks_host = false;
}

void Resident::OrderSleep(Presence& presence, SleepLevel level, Instant now) {
  presence.leaving = false;
  presence.level = level;
  held_ = presence.host;
  if (level != SleepLevel::kDisk) presence.host = HostHold::kSure;
  wakes_.Sleep(level);
  presence.residency = Residency::kFallingAsleep;
  overdue_at_ = now + fall_.patience();
  ++counts_.sleeps;
}

void Resident::OrderWake(Presence& presence, Instant now) {
  presence.wanted = false;
  presence.residency = Residency::kWaking;
  presence.awake_at = now + wake().expected();
  overdue_at_ = now + wake().patience();
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
  const bool fell = presence.awake() || presence.residency == Residency::kFallingAsleep;
  presence.holds = fell && failures_ >= kMostFailures;
}

void Resident::NoteLevel(Presence& presence, const ReplicaResidency& event) {
  const bool ordered = event.failed || event.took > Duration();
  if (presence.residency == Residency::kWaking && event.residency == Residency::kAwake && ordered) was_down_ = false;
  if (presence.residency == Residency::kFallingAsleep) {
    const bool moved = ordered && event.residency == Residency::kAsleep;
    if (!moved) presence.host = held_;
    if (moved) return;
  }
  const bool falls = presence.awake() || presence.residency == Residency::kFallingAsleep;
  const bool learns = presence.level == SleepLevel::kUnsaid && event.level != SleepLevel::kUnsaid;
  if (event.residency != Residency::kAsleep || (!falls && !learns)) return;
  // Somebody else put it to sleep.
  presence.level = event.level;
  wakes_.Sleep(event.level);
  if (event.level == SleepLevel::kHost || !wakes_.may_drop()) presence.host = HostHold::kSure;
  if (event.level == SleepLevel::kDisk && presence.host == HostHold::kMaybe) presence.host = HostHold::kNone;
  if (event.level == SleepLevel::kUnsaid) presence.host = std::max(presence.host, HostHold::kMaybe);
}

void Resident::SawHealth(Presence& presence, Health health) {
  if (health == Health::kDown) {
    was_down_ = presence.host != HostHold::kNone;
  } else if (was_down_ && presence.awake()) {
    was_down_ = false;
    presence.host = HostHold::kNone;
  }
}

void Resident::Told(Presence& presence, const ReplicaResidency& event, Instant now) {
  const bool woke = presence.residency == Residency::kWaking && event.residency == Residency::kAwake;
  const bool under_way = event.residency == Residency::kWaking || event.residency == Residency::kFallingAsleep;
  const bool fell = presence.residency == Residency::kFallingAsleep && event.residency == Residency::kAsleep;
  if (woke && !event.failed && event.took > Duration()) wakes_.Observe(event.took);
  if (fell && !event.failed && event.took > Duration()) fall_.Observe(event.took);
  NoteLevel(presence, event);
  if (event.residency == Residency::kAwake && !presence.awake()) awake_since_ = last_used_ = now;
  presence.residency = event.residency;
  presence.leaving = presence.leaving && presence.awake();
  presence.wanted = presence.wanted && event.residency == Residency::kAsleep;
  presence.blocked = presence.blocked && event.residency == Residency::kAsleep;
  presence.wake = wake().expected();
  if (event.residency == Residency::kWaking) presence.awake_at = now + wake().expected();
  if (event.failed) return Fail(presence, now);
  overdue_at_ = under_way ? now + wake().patience() : Instant::Never();
  presence.trusted = true;
  presence.holds = false;
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
  presence.holds = false;
  return !std::exchange(presence.trusted, true);
}

Instant Resident::NextChange(const Presence& presence) const {
  return std::min(overdue_at_, presence.trusted ? Instant::Never() : trusted_at_);
}

}  // namespace penstock
