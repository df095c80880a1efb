#include "router/policies/least_request.h"

#include <algorithm>
#include <utility>

#include "router/policies/draw.h"

namespace penstock {

RivalCore::Choice LeastRequest::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  const std::vector<ReplicaId> compared =
      options_.choices == 0 ? candidates : DrawDistinct(candidates, options_.choices, random_);
  const auto load = [this](ReplicaId id) { return std::pair(replica(id).running, turns_.Of(id)); };
  return turns_.Take(
      *std::min_element(compared.begin(), compared.end(), [&](ReplicaId a, ReplicaId b) { return load(a) < load(b); }));
}

}  // namespace penstock
