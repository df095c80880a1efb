#include "router/core/residency/resident.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

// After the last of so many failures in a row.
Duration PauseAfter(int failures) {
  const double pause = Resident::kFirstPause * std::pow(2, std::clamp(failures - 1, 0, 10));
  return Duration::Seconds(std::min(Resident::kMostPause, pause));
}

}  // namespace

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

void Resident::Proved() {
  if (!std::exchange(proven_, true)) failures_ = 0;
}

void Resident::Fail(Presence& presence, Instant now) {
  overdue_at_ = Instant::Never();
  proven_ = true;
  ++failures_;
  trusted_at_ = now + PauseAfter(failures_);
  ++counts_.failures;
  presence.trusted = false;
  presence.wanted = false;
  const bool fell = presence.awake() || presence.residency == Residency::kFallingAsleep;
  presence.holds = fell && failures_ >= kMostFailures;
  if (presence.residency != Residency::kWaking) return;
  // The edge tells how it ends, and the pause begins then.
  presence.holds = true;
  trusted_at_ = Instant::Never();
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

void Resident::Saw(Presence& presence, Health health, Instant now) {
  if (presence.awake() && now >= SettledAt()) Proved();
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
  // Its wake failed before, and was not put back.
  const bool in_doubt = presence.residency == Residency::kWaking && !presence.trusted;
  // Nobody ordered it to sleep.
  const bool gone = presence.awake() && event.residency == Residency::kAsleep && event.took == Duration();
  const bool lost = gone && !proven_ && now < SettledAt();
  if (event.residency == Residency::kAwake && !presence.awake()) awake_since_ = last_used_ = now;
  presence.residency = event.residency;
  presence.leaving = presence.leaving && presence.awake();
  presence.wanted = presence.wanted && event.residency == Residency::kAsleep;
  presence.blocked = presence.blocked && event.residency == Residency::kAsleep;
  presence.wake = wake().expected();
  if (event.residency == Residency::kWaking) presence.awake_at = now + wake().expected();
  if (in_doubt && event.failed && event.residency == Residency::kWaking) return;
  if (event.failed || lost) return Fail(presence, now);
  if (in_doubt && event.residency == Residency::kAsleep) {
    presence.holds = false;
    trusted_at_ = now + PauseAfter(failures_);
    return;
  }
  overdue_at_ = under_way ? now + wake().patience() : Instant::Never();
  presence.trusted = true;
  presence.holds = false;
  trusted_at_ = Instant::Never();
  if (event.residency != Residency::kAwake) return;
  proven_ = !(woke && event.took > Duration());
  if (proven_) failures_ = 0;
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
