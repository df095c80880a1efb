// Tells when an engine that answers its pages has stopped to work: a pure state machine. Time is an argument.
//
// A sign of work is a token of any stream, or a change of the engine's own figures. An engine without work, or with
// figures that cannot show progress, is never suspected. The time that the prompts ahead explain is the caller's; four
// times as much passes first, and `least` on top. A look that comes late says nothing: the router itself stood still.
// Owned by the control loop, one per replica.
#ifndef PENSTOCK_BACKENDS_HEALTH_HANG_WATCH_H_
#define PENSTOCK_BACKENDS_HEALTH_HANG_WATCH_H_

#include <cstdint>

#include "base/units.h"

namespace penstock {

class HangWatch {
 public:
  // The figures of an engine that move while it works. `tokens` negative: it does not count them.
  struct Figures {
    int64_t tokens = -1;
    int64_t preemptions = -1;
    int running = -1;
    int waiting = -1;
    double kv_used_share = -1;
    bool operator==(const Figures&) const = default;
  };
  // The router's own knowledge of the work there.
  struct Work {
    int64_t running = 0;
    Duration explained = Duration::Infinite();  // Until the next token at the latest, by the step model.
  };

  explicit HangWatch(Instant now) : alive_(now), looked_(now) {}

  // A stream got a token then.
  void OnToken(Instant then) {
    heard_ = heard_ < then ? then : heard_;
    alive_ = alive_ < then ? then : alive_;
  }
  bool HeardSince(Instant then) const { return then <= heard_; }
  // After each poll. The time without a sign of work, if it is too long; zero otherwise. It is reported once; the
  // silence then begins again.
  Duration HangsFor(const Figures& figures, const Work& work, Duration least, Instant now);

 private:
  Figures figures_;
  Instant heard_;  // The newest token.
  Instant alive_;
  Instant looked_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_HEALTH_HANG_WATCH_H_
