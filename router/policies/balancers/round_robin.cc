#include "router/policies/balancers/round_robin.h"

#include <algorithm>

#include "router/policies/kit/rival_core.h"

namespace penstock {

RivalRule::Choice RoundRobin::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  const auto [last, first_time] = last_.try_emplace(request.model, candidates.back());
  const auto next = std::upper_bound(candidates.begin(), candidates.end(), last->second);
  last->second = next == candidates.end() ? candidates.front() : *next;
  return last->second;
}

PolicyDeclaration RoundRobinPolicy() {
  PolicyDeclaration policy;
  policy.name = "round_robin";
  policy.text = {"any proxy", "the next replica of the model", "the health of the replicas", "nothing more", ""};
  policy.make = [](const PolicyChoice&, uint64_t) { return MakeRival<RoundRobin>(); };
  return policy;
}

}  // namespace penstock
