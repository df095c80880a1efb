// Warnings of MIG slices that no device can have. Pure.
#ifndef PENSTOCK_CONFIG_SLICE_WARNINGS_H_
#define PENSTOCK_CONFIG_SLICE_WARNINGS_H_

#include <string>
#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// One warning for each slice of a kind without MIG. One more for each device whose slices are more than the device. The
// device of a slice is its id before the last slash, unless that names a node.
std::vector<std::string> SliceWarnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_SLICE_WARNINGS_H_
