// Is an engine that commands start and stop asleep, or does it hang? A pure state machine; time is an argument.
//
// An engine whose processes have ended is asleep. One that may still hold its memory hangs. Its start command runs, it
// answers with errors, or requests ran there and its address still takes connections. A hang is no sleep. After the
// patience without a token, the engine is to be stopped, and again after each further patience. Owned by the control
// loop, one per replica.
#ifndef PENSTOCK_BACKENDS_COMMAND_ABSENCE_WATCH_H_
#define PENSTOCK_BACKENDS_COMMAND_ABSENCE_WATCH_H_

#include <optional>

#include "base/units.h"

namespace penstock {

// A round of polls, and what else is known after it.
struct CommandRound {
  bool answered = false;
  bool gone = false;        // It is down by its polls.
  bool refused = false;     // Nothing takes connections at its address, or a proxy says so (502, 504).
  bool errs = false;        // It answers its pages with errors that no proxy makes.
  bool start_runs = false;  // The start command of this router runs.
  int running = -1;         // Requests there by its last report; negative: unknown.
  Instant token;            // A stream of the engine got its last token then.
};

class AbsenceWatch {
 public:
  enum class Finding : uint8_t {
    kNothing,
    kAwake,
    kAsleep,
    kHangs,  // Its memory is lost until it is stopped.
  };

  Finding OnRound(const CommandRound& round, Instant now, Duration patience);

 private:
  std::optional<Instant> hangs_since_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_COMMAND_ABSENCE_WATCH_H_
