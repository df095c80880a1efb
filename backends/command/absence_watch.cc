#include "backends/command/absence_watch.h"

#include <algorithm>

namespace penstock {

AbsenceWatch::Finding AbsenceWatch::OnRound(const CommandRound& round, Instant now, Duration patience) {
  const bool may_live = round.start_runs || round.errs || (round.running > 0 && !round.refused);
  if (round.answered || (round.gone && !may_live)) {
    hangs_since_.reset();
    return round.answered ? Finding::kAwake : Finding::kAsleep;
  }
  // One answer is enough, but one silence is not.
  if (!round.gone) return Finding::kNothing;
  if (!hangs_since_) hangs_since_ = now;
  if (now - std::max(*hangs_since_, round.token) < patience) return Finding::kNothing;
  hangs_since_ = now;
  return Finding::kHangs;
}

}  // namespace penstock
