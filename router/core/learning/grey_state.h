// A replica that answers but is slow, as the core sees it: the cause, and the time of its next trial.
//
// Values. Changed by router/core/grey/GreyWatch only; the step model of the replica has the derate.
#ifndef PENSTOCK_ROUTER_CORE_LEARNING_GREY_STATE_H_
#define PENSTOCK_ROUTER_CORE_LEARNING_GREY_STATE_H_

#include <array>
#include <cstdint>

#include "base/grey_cause.h"
#include "base/units.h"

namespace penstock {

struct GreyState {
  GreyCause cause = GreyCause::kNone;  // None: no derate holds.
  double derate = 1;                   // GreyWatch sets it.
  bool stalled = false;                // It stands still; it takes nothing.
  int suspicions = 0;                  // Samples in a row that were too slow.
  Instant judged_at;                   // The last sample then.
  Instant stall_began;
  Instant stall_ended;  // Instant(): it never stood still.
  int stalls = 0;       // Those of one failure so far.
  // While it is derated and idle, it takes one request from then on, whatever its pace.
  Instant trial_at;
  Duration pause;                             // Between two trials.
  bool trial_told = false;                    // Its lanes know of the trial.
  double found_after = 0;                     // Steps from the first slow one to the newest derate.
  Instant found_at;                           // The newest derate began then.
  std::array<int64_t, kGreyCauses> events{};  // Begins so far, by cause.

  bool TakesTrial(Instant now) const { return now >= trial_at; }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_LEARNING_GREY_STATE_H_
