// The state of a router on a terminal until a person or a signal ends it: keys and a new size draw at once.
#ifndef PENSTOCK_APP_TOP_LIVE_SCREEN_H_
#define PENSTOCK_APP_TOP_LIVE_SCREEN_H_

#include <csignal>

#include "app/top/state_reader.h"
#include "base/units.h"

namespace penstock::top {

// Returns at `end` at the latest. `signals` are blocked; SIGWINCH among them draws anew, any other ends it.
void ShowScreen(StateReader& reader, Duration interval, const sigset_t& signals, Instant end = Instant::Never());

}  // namespace penstock::top

#endif  // PENSTOCK_APP_TOP_LIVE_SCREEN_H_
