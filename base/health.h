// The health of a replica: may it get requests?
#ifndef PENSTOCK_BASE_HEALTH_H_
#define PENSTOCK_BASE_HEALTH_H_

#include <cstdint>

namespace penstock {

enum class Health : uint8_t {
  kDown,     // Not reachable, or loading: nothing is sent.
  kProbing,  // Came back: one request at a time until one succeeds.
  kUp,
  kDraining,  // Leaves: running requests end, nothing new.
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_HEALTH_H_
