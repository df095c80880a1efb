// Tells if a replica is there to take requests: its outages, and its place in the memory of its GPUs.
//
// A replica that may sleep goes awake -> falling asleep -> asleep -> waking -> awake. It leaves while its memory is
// meant for another: it gets nothing new and sleeps once it is idle. Invariant: only an awake replica leaves, only a
// replica that sleeps or falls asleep is wanted. A value; router/core/residency changes it.
#ifndef PENSTOCK_ROUTER_CORE_BOOKS_PRESENCE_H_
#define PENSTOCK_ROUTER_CORE_BOOKS_PRESENCE_H_

#include <algorithm>
#include <vector>

#include "base/health.h"
#include "base/ids.h"
#include "base/residency.h"
#include "base/units.h"
#include "router/core/contract/admission_checks.h"

namespace penstock {

// Does the engine of a replica hold memory of its host for its weights?
enum class HostHold : uint8_t {
  kNone,
  kMaybe,  // It sleeps, or slept, and nobody knows at which level.
  kSure,
};

struct Presence {
  Instant down_since;  // Instant(): it was never seen up.
  Residency residency = Residency::kAwake;
  bool leaving = false;
  bool wanted = false;  // It is to wake once its memory is there.
  bool trusted = true;  // False: its last order failed or is overdue; nobody waits for it.
  // The replica does not fall asleep, or its wake failed and no sleep followed. Requests of its neighbours do not wait
  // for its memory meanwhile.
  bool holds = false;
  bool blocked = false;  // It sleeps, and replicas that hold take the memory that it needs.
  Instant awake_at;      // While it wakes: when the wake is expected to end.
  Duration wake;         // The expected time of a wake.
  // The level of its sleep, or of the sleep for which it leaves. Changed with the next by router/core/residency.
  SleepLevel level = SleepLevel::kUnsaid;
  HostHold host = HostHold::kNone;
  bool lacks_host = false;      // It was idle for long, and stays awake for want of memory of its host.
  std::vector<ModelId> absent;  // The adapters that its engine would have to load. Changed by router/core/adapters.

  bool Has(ModelId model) const { return std::find(absent.begin(), absent.end(), model) == absent.end(); }

  // The replica sleeps. Its last wake failed or is overdue, or it cannot get its memory.
  bool CannotWake() const {
    return blocked || (!trusted && (residency == Residency::kAsleep || residency == Residency::kWaking));
  }
  bool awake() const { return residency == Residency::kAwake; }
  bool Takes() const { return awake() && !leaving; }
  // True: the replica counts as up for its models, for it is awake or can be woken.
  bool CountsAsUp(Health health) const {
    if (awake()) return IsUp(health);
    // Its engine ended while it slept. Commands that could start it again would make it count as up.
    if (residency == Residency::kAsleep && health == Health::kDown) return false;
    return trusted && !blocked && health != Health::kDraining;
  }
  // Seconds until it could take a request, as far as is known.
  double SecondsAway(Instant now) const {
    if (Takes()) return 0;
    if (residency == Residency::kWaking) return std::max(0.0, (awake_at - now).seconds());
    return wake.seconds();
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_BOOKS_PRESENCE_H_
