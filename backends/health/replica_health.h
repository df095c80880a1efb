// Whether a replica may be sent requests, with slow re-entry: a pure state machine, time in, state out.
//
//   start --good probe--> up: nothing is known against it.
//   up, probing --N consecutive failures--> down at once.
//   down --K consecutive good probes--> probing --a request succeeds--> up.
// Probes of a down replica come at 100 ms, doubling to 800 ms, and at 100 ms again after a good one, so that a replica
// is known within 1 s of its engine answering. Push-back (429, 503 to a request) is news about load, never about
// health. A sleeping engine counts as down and returns without probation; draining hides everything but down. Owned by
// the control loop; one per replica.
#ifndef PENSTOCK_BACKENDS_HEALTH_REPLICA_HEALTH_H_
#define PENSTOCK_BACKENDS_HEALTH_REPLICA_HEALTH_H_

#include "base/health.h"
#include "base/units.h"

namespace penstock {

class HealthTracker {
 public:
  struct Options {
    int good_probes = 2;       // Consecutive, before a replica that was down is tried.
    int connect_failures = 2;  // Consecutive, of requests.
    int poll_failures = 3;     // Consecutive, of polls.
    int broken_answers = 3;    // Consecutive answers cut, garbled or stalled.
    Duration probe_min = Duration::Milliseconds(100);
    Duration probe_max = Duration::Milliseconds(800);
  };

  explicit HealthTracker(Instant now) : HealthTracker(now, Options()) {}
  HealthTracker(Instant now, Options options);

  // A probe (while down) or a poll (otherwise) was answered, or not.
  void OnProbe(Instant now, bool good);
  void OnConnectFailed(Instant now);  // A request could not be sent.
  void OnBrokenAnswer(Instant now);   // A request was sent and its answer was cut, not HTTP, or never came.
  void OnAnswer();                    // A request's answer began as it should.
  void OnPushBack() {}                // The engine refused for load: it is alive and says so.
  void SetSleeping(bool sleeping) { sleeping_ = sleeping; }
  void SetDraining(bool draining) { draining_ = draining; }

  Health health() const;
  // Whether probes, instead of polls, are due, and when the next one is.
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
