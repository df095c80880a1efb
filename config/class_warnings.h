// Warnings about classes: goals without an effect, bounds and shares that cannot hold.
#ifndef PENSTOCK_CONFIG_CLASS_WARNINGS_H_
#define PENSTOCK_CONFIG_CLASS_WARNINGS_H_

#include <string>
#include <vector>

#include "config/config.h"

namespace penstock {

// In the order of the classes.
std::vector<std::string> ClassWarnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_CLASS_WARNINGS_H_
