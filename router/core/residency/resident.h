// One replica that may sleep: the order that is under way, its failures, and what it has shown so far.
//
//   awake --Sleep--> falling asleep --> asleep --Wake--> waking --> awake
// An order ends with ReplicaResidency. One that fails, or does not end in time, is followed by a pause. Pauses double,
// up to kMostPause. A wake whose replica is gone before it finished a request, within its least stay, failed too. One
// that does not fall asleep holds its memory until a pause is over. One whose wake failed may still be waking: it holds
// its memory until the edge tells where it is. Its engine holds memory of its host from its first sleep there on.
// Invariant: one order at most is under way; while it is, `overdue_at` is when it counts as failed. Owned by Residents.
// O(1).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENT_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENT_H_

#include <cstdint>

#include "router/core/books/presence.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"
#include "router/core/learning/wake_time.h"
#include "router/core/residency/wake_times.h"

namespace penstock {

class Resident {
 public:
  // Seconds of the first pause after a failure, and of the longest.
  static constexpr double kFirstPause = 2;
  static constexpr double kMostPause = 120;
  // After so many failures in a row, the last of them a sleep, nobody waits for the memory of the replica. One alone
  // may be that of an engine that is about to end a request.
  static constexpr int kMostFailures = 2;
  // A replica stays awake for so many times the wake that it cost: a GPU so works at least two thirds of the time.
  static constexpr double kLeastStay = 2;

  struct Counts {
    int64_t sleeps = 0;
    int64_t wakes = 0;
    int64_t failures = 0;
  };

  Resident(size_t replica, const SleepSpec& spec) : replica_(replica) { Configure(spec); }

  void Configure(const SleepSpec& spec);
  size_t replica() const { return replica_; }
  Duration after() const { return after_; }
  // The time of a wake from its present sleep, or from its last one.
  const WakeTime& wake() const { return wakes_.present(); }
  // The same after a sleep at this level.
  const WakeTime& WakeFrom(SleepLevel level) const { return wakes_.From(level); }
  // The expected time of falling asleep.
  Duration fall() const { return fall_.expected(); }
  const Counts& counts() const { return counts_; }

  // The replica finished a request, or stayed for long enough: its last wake did not fail.
  void Proved();
  // The replica ran a request until now.
  void Used(Instant now) { last_used_ = now; }
  Duration IdleTime(Instant now) const { return now - last_used_; }
  // From then on it may have to leave for others.
  Instant SettledAt() const { return awake_since_ + Duration::Seconds(kLeastStay * wake().expected().seconds()); }

  // A review plans anew who leaves. One that left in the plan before is chosen again rather than another busy one.
  void BeginReview(Presence& presence);
  bool left_before() const { return left_before_; }
  bool wanted_before() const { return wanted_before_; }
  // True: the new plan differs from the one before.
  bool PlanChanged(const Presence& presence) const {
    return presence.leaving != left_before_ || presence.wanted != wanted_before_;
  }

  // The replica is to sleep, or to wake, from now on.
  void OrderSleep(Presence& presence, SleepLevel level, Instant now);
  void OrderWake(Presence& presence, Instant now);
  // The order has ended, or somebody else changed the replica.
  void Told(Presence& presence, const ReplicaResidency& event, Instant now);
  // A review saw the health of its engine. One that went down and is back awake was started anew: it holds nothing.
  // Its least stay may be over.
  void Saw(Presence& presence, Health health, Instant now);
  // True: the order under way took too long. It counts as failed from now on.
  bool GiveUpAt(Presence& presence, Instant now);
  // True: the pause after a failure is over. It may be woken again.
  bool TrustAgainAt(Presence& presence, Instant now);
  // When one of the last two turns true; Never: not before an event.
  Instant NextChange(const Presence& presence) const;

 private:
  void Fail(Presence& presence, Instant now);
  // Where its weights are, and what its engine holds, by the end of an order or by a change that somebody else made.
  void NoteLevel(Presence& presence, const ReplicaResidency& event);

  size_t replica_;
  Duration after_;
  WakeTimes wakes_;
  WakeTime fall_;
  HostHold held_ = HostHold::kNone;  // Before the order under way.
  bool was_down_ = false;            // Its engine may be another process than the one that holds memory.
  Counts counts_;
  Instant last_used_;
  Instant awake_since_;
  Instant overdue_at_ = Instant::Never();
  Instant trusted_at_ = Instant::Never();
  int failures_ = 0;    // In a row.
  bool proven_ = true;  // Its last wake did not fail.
  bool left_before_ = false;
  bool wanted_before_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENT_H_
