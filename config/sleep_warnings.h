// Warnings of models that sleep for longer than their requests wait, and of stop commands that do nothing. Pure.
#ifndef PENSTOCK_CONFIG_SLEEP_WARNINGS_H_
#define PENSTOCK_CONFIG_SLEEP_WARNINGS_H_

#include <string>
#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// One warning for each model whose servers all sleep, and each class that its requests have unless they name another.
// The queue time of the class is not longer than the shortest expected wake. A TTFT goal refuses no request that waits
// for a wake. A replica that discovers its model may serve any, so nothing is known while one is always awake.
// One more for each stop command that does nothing: it cannot end an engine from before a restart of the router.
std::vector<std::string> SleepWarnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_SLEEP_WARNINGS_H_
