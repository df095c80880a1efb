// Warnings of sleeping replicas whose weights exceed the memory of their nodes. Pure.
#ifndef PENSTOCK_CONFIG_HOST_MEMORY_WARNINGS_H_
#define PENSTOCK_CONFIG_HOST_MEMORY_WARNINGS_H_

#include <string>
#include <vector>

#include "config/values/config_values.h"

namespace penstock {

// One warning for each node that cannot hold the weights of all its sleeping replicas at once. One more where the
// weights of some are unknown. The kind of an engine that the configuration does not name is taken for vLLM.
std::vector<std::string> HostMemoryWarnings(const Config& config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_HOST_MEMORY_WARNINGS_H_
