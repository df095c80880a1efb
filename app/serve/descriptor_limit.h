// The descriptors of the process, and the client connections that they allow.
//
// A client connection needs a descriptor, and up to one more to its engine. A simulated engine in this process has the
// other end, too. Listeners, loops, polls, files and the spare connections have a reserve.
#ifndef PENSTOCK_APP_SERVE_DESCRIPTOR_LIMIT_H_
#define PENSTOCK_APP_SERVE_DESCRIPTOR_LIMIT_H_

#include <cstdint>
#include <string>

#include "config/config.h"

namespace penstock {

// Raises the limit as far as the system allows, and returns it.
int64_t RaiseDescriptorLimit();

// Connections beyond limits.max_connections, for health and metrics: 64, or fewer where descriptors are few.
int SpareConnections(int64_t descriptors);

// Lowers limits.max_connections to the number that `descriptors` allow. Returns the notice; empty when nothing changed.
std::string FitToDescriptors(int64_t descriptors, Config& config);

}  // namespace penstock

#endif  // PENSTOCK_APP_SERVE_DESCRIPTOR_LIMIT_H_
