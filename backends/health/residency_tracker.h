// Is the model of one replica in the memory of its GPUs? A pure state machine; time is an argument.
//
// The tracker follows the orders of the router and the page of the engine. A page that speaks against the state counts
// when it was asked twice in a row after the last change. An engine that says that it sleeps while its streams get
// tokens lies. Its page then counts no more until it says that the engine is awake. Owned by the control loop, one per
// replica.
#ifndef PENSTOCK_BACKENDS_HEALTH_RESIDENCY_TRACKER_H_
#define PENSTOCK_BACKENDS_HEALTH_RESIDENCY_TRACKER_H_

#include "base/residency.h"
#include "base/units.h"

namespace penstock {

class ResidencyTracker {
 public:
  enum class Finding : uint8_t {
    kNothing,
    kChanged,  // The engine changed by itself.
    kLies,     // It says that it sleeps, and answers. Found once.
  };

  Residency residency() const { return residency_; }
  // An order is under way.
  bool busy() const { return residency_ == Residency::kWaking || residency_ == Residency::kFallingAsleep; }
  // The engine counts as asleep after a wake that failed, and may hold memory. The caller has to order a sleep again.
  bool holds() const { return holds_ && !busy(); }
  // The order under way is that sleep.
  bool undoing() const { return undoing_; }
  // The page spoke against the state, once so far.
  bool in_doubt() const { return doubts_ > 0; }

  // Not while busy. `waking`: from asleep to awake. Else to asleep, also from one that holds memory.
  void Begin(bool waking, Instant now);
  // The end of the order, and the time that it took. After a failure, the state is that from before.
  // `holds`: a wake failed and may have taken memory.
  Duration End(bool ok, Instant now, bool holds = false);
  // The page, asked at `asked`. Nothing counts while busy.
  Finding Saw(bool asleep, Instant asked);
  // Somebody knows better. True: it was otherwise until now. Not while busy.
  bool Set(Residency residency, Instant now);
  // The process of the engine has ended. True: it was not asleep until now. Not while busy.
  bool Gone(Instant now);
  // A stream of the replica got a token then.
  void OnToken(Instant then) { token_ = token_ < then ? then : token_; }
  // The engine answers, whatever its page says.
  void Distrust() { distrusted_ = true; }
  // Its page said that it sleeps while it answered, and has not said since that it is awake.
  bool distrusted() const { return distrusted_; }
  // The engine may be another process now: its first page counts at once.
  void Forget();

 private:
  Residency residency_ = Residency::kAwake;
  bool known_ = false;
  bool distrusted_ = false;
  bool holds_ = false;
  bool undoing_ = false;
  int doubts_ = 0;
  Instant doubted_;
  Instant changed_;
  Instant token_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_HEALTH_RESIDENCY_TRACKER_H_
