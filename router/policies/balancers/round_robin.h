// Round robin: each request goes at once to the next replica of its model, in the order of the fleet.
//
// The policy reads no report and no count. A request waits only while every replica of its model is on probation.
// The policy refuses nothing for lateness.
// Rule: the default of most proxies (nginx, HAProxy `balance roundrobin`). It has no settings.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_ROUND_ROBIN_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_ROUND_ROBIN_H_

#include <map>
#include <vector>

#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"

namespace penstock {

class RoundRobin final : public RivalRule {
 private:
  void Forget(ModelId model) override { last_.erase(model); }
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }

  std::map<ModelId, ReplicaId> last_;
};

PolicyDeclaration RoundRobinPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_ROUND_ROBIN_H_
