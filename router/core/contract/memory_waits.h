// The demand that memory holds back at one moment. A value, never read back by a core.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_MEMORY_WAITS_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_MEMORY_WAITS_H_

#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace penstock {

struct MemoryWaits {
  // A pool that serves such a model: the memory that neither running requests nor their forecast growth need.
  struct Pool {
    PoolId pool;
    Amount unused{0};
    bool operator==(const Pool&) const = default;
  };

  std::vector<ModelId> models;  // The first request of the model waits for memory. In rising order.
  std::vector<Pool> pools;      // Each once.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_MEMORY_WAITS_H_
