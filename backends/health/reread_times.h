// The times at which the facts of a running engine are read again: its models, their context, its memory.
//
// Slowly all the time, as models come and go while an engine runs. At the next chance where a sign says that they did:
// the engine denies a model that it listed, or it may have been restarted. The readings of replicas with other seeds
// spread over time. Pure; time is an argument. Owned by the control loop, one per replica.
#ifndef PENSTOCK_BACKENDS_HEALTH_REREAD_TIMES_H_
#define PENSTOCK_BACKENDS_HEALTH_REREAD_TIMES_H_

#include <cstdint>

#include "base/generator.h"
#include "base/units.h"

namespace penstock {

class RereadTimes {
 public:
  // The pause after a reading without a sign: this time or this many polls, the shorter one, and a quarter more or
  // less.
  static constexpr Duration kPause = Duration::Seconds(30);
  static constexpr int kPausePolls = 120;
  // The least time from one reading to the next, whatever the signs.
  static constexpr Duration kLeast = Duration::Seconds(3);

  explicit RereadTimes(uint64_t seed) : draw_(seed) {}

  // The pages are being read for the first time, or again.
  void OnDiscovery(Instant now, Duration poll_interval);
  void OnReread(Instant now, Duration poll_interval);
  // The engine denies a model that it listed.
  void OnModelDenied() { wanted_ = denied_ = true; }
  // The engine holds less than before, or lacks a model. Called at each chance until another reading confirms it.
  void OnDoubt(Instant now);
  // Connections or answers broke: it may be another engine.
  void OnTrouble() { wanted_ = recognise_ = true; }
  // The counts are those of the engine since its start; negative: not reported.
  void OnGoodPoll(int64_t tokens, int64_t preemptions);
  // The engine has other pages than it had.
  void OnUnreadable() { recognise_ = true; }
  // Nothing is read until the next good poll.
  void OnFailedPoll();

  bool Due(Instant now) const { return !failing_ && now >= earliest_ && (wanted_ || now >= next_); }
  // The next reading begins with the kind of the engine.
  bool recognise() const { return recognise_; }
  // The engine denied a model since the last reading.
  bool denied() const { return denied_; }

 private:
  bench::Generator draw_;
  Instant earliest_;
  Instant next_;
  int64_t tokens_ = -1;
  int64_t preemptions_ = -1;
  bool wanted_ = false;
  bool recognise_ = false;
  bool denied_ = false;
  bool failing_ = false;
  bool doubted_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_HEALTH_REREAD_TIMES_H_
