// The health of one replica: a pure state machine with slow re-entry. Time is an argument.
//
//   start --good probe--> up.
//   up, probing --N consecutive failures--> down at once.
//   up --hang--> probing --hang--> down.
//   down --K consecutive good probes--> probing --a request succeeds--> up.
// Probes of a down replica come after 100 ms, doubling to 800 ms. After a good probe they come at 100 ms again, so a
// replica is known within 1 s of the first answer of its engine. A refusal for load (429, 503) does not change health.
// A sleeping engine counts as down and returns without probation. Draining hides every state but down. Owned by the
// control loop, one per replica.
#ifndef PENSTOCK_BACKENDS_HEALTH_REPLICA_HEALTH_H_
#define PENSTOCK_BACKENDS_HEALTH_REPLICA_HEALTH_H_

#include "base/health.h"
#include "base/units.h"

namespace penstock {

class HealthTracker {
 public:
  struct Options {
    // All counts are consecutive.
    int good_probes = 2;       // Good probes before a down replica gets a request.
    int connect_failures = 2;  // Requests that could not be sent.
    int poll_failures = 3;     // Polls without an answer.
    int broken_answers = 3;    // Answers that were cut, garbled or stalled.
    Duration probe_min = Duration::Milliseconds(100);
    Duration probe_max = Duration::Milliseconds(800);
  };

  explicit HealthTracker(Instant now) : HealthTracker(now, Options()) {}
  HealthTracker(Instant now, Options options);

  // The result of a probe (while down) or of a poll (otherwise).
  void OnProbe(Instant now, bool good);
  // The probe could not be sent, for want of descriptors: it says nothing about the engine.
  void OnPostponed(Instant now) { next_probe_ = now + options_.probe_max; }
  void OnConnectFailed(Instant now);  // A request could not be sent.
  void OnBrokenAnswer(Instant now);   // The answer to a request was cut, was not HTTP, or never came.
  void OnHang(Instant now);           // It answers its pages, and does no work.
  void OnAnswer();                    // The answer to a request began well.
  void OnStarted(Instant now);        // A new process of the engine is to come: its first good probe makes it up.
  void SetSleeping(bool sleeping) { sleeping_ = sleeping; }
  void SetDraining(bool draining) { draining_ = draining; }

  Health health() const;
  // True when probes are due instead of polls. next_probe() is the time of the next one.
  bool probing_needed() const { return state_ == Health::kDown; }
  Instant next_probe() const { return next_probe_; }

 private:
  void GoDown(Instant now);
  void ForgetFailures();

  Options options_;
  Health state_ = Health::kDown;
  bool ever_up_ = false;
  bool sleeping_ = false;
  bool draining_ = false;
  int good_probes_ = 0;
  int connect_failures_ = 0;
  int poll_failures_ = 0;
  int broken_answers_ = 0;
  Duration probe_interval_;
  Instant next_probe_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_HEALTH_REPLICA_HEALTH_H_
