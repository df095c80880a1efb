// Round robin: each request goes at once to the next replica of its model, whatever that replica says of itself.
//
// Nothing waits but requests whose every replica is being probed; nothing is refused for lateness.
#ifndef PENSTOCK_ROUTER_POLICIES_ROUND_ROBIN_H_
#define PENSTOCK_ROUTER_POLICIES_ROUND_ROBIN_H_

#include <map>
#include <vector>

#include "router/policies/rival_core.h"

namespace penstock {

class RoundRobin final : public RivalCore {
 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }

  std::map<ModelId, ReplicaId> last_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_ROUND_ROBIN_H_
