#include "router/policies/balancers/least_request.h"

#include <algorithm>
#include <utility>

#include "router/policies/kit/draw.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {

RivalRule::Choice LeastRequest::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  const std::vector<ReplicaId> compared =
      options_.choices == 0 ? candidates : DrawDistinct(candidates, options_.choices, random_);
  const auto load = [this](ReplicaId id) { return std::pair(replica(id).running, turns_.Of(id)); };
  return turns_.Take(
      *std::min_element(compared.begin(), compared.end(), [&](ReplicaId a, ReplicaId b) { return load(a) < load(b); }));
}

PolicyDeclaration LeastRequestPolicy() {
  const LeastRequest::Options defaults;
  PolicyDeclaration policy;
  policy.name = "least_request";
  policy.settings = {
      WholeSetting("choices", static_cast<double>(defaults.choices), 0, 1024, "replicas drawn and compared; 0: all")};
  policy.alternatives = {"choices=2", "choices=3"};
  policy.text = {"HAProxy `leastconn`, nginx `least_conn`, KubeAI LeastLoad, Envoy (`choices`)",
                 "fewest requests in flight, of all replicas or of some drawn", "its own requests in flight",
                 "nothing more", ""};
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    return MakeRival<LeastRequest>(LeastRequest::Options{static_cast<size_t>(choice["choices"])}, seed);
  };
  return policy;
}

}  // namespace penstock
