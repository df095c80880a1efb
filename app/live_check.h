// Asks the engines of a configuration, for `penstock check --live`.
#ifndef PENSTOCK_APP_LIVE_CHECK_H_
#define PENSTOCK_APP_LIVE_CHECK_H_

#include <string>
#include <vector>

#include "backends/engines/contract/discovery.h"
#include "config/config.h"

namespace penstock {

struct LiveFinding {
  std::string replica;
  std::string text;  // The facts of the engine, or the fault.
  bool ok = false;
};

// One finding per replica that has a url, in the order of the file. All engines are asked at the same time; each answer
// may take 2 s, so the call takes seconds. A replica that may be stopped by its operator is well when it is not
// reached.
std::vector<LiveFinding> AskEngines(const Config& config);

// The disagreement of an engine's facts with its replica; empty: none.
std::string Disagreement(const Config& config, const ReplicaConfig& replica, const Discovery& found);

}  // namespace penstock

#endif  // PENSTOCK_APP_LIVE_CHECK_H_
