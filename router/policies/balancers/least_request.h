// Fewest requests in flight: the rule of proxies without a view of the engines.
//
// Each request goes at once to the replica with the fewest requests of this router, waiting or running there. At equal
// counts the replica that was chosen longest ago wins. With `choices` > 0 the policy draws that many replicas at random
// and compares only these. A request waits only while every replica of its model is on probation. The policy refuses
// nothing for lateness.
// Rule: HAProxy `balance leastconn`, nginx `least_conn`, KubeAI's LeastLoad (internal/loadbalancer/
// balance_least_load.go). `choices` is `choice_count` of Envoy's least request policy.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_REQUEST_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_REQUEST_H_

#include <cstdint>
#include <vector>

#include "base/generator.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/turns.h"

namespace penstock {

class LeastRequest final : public RivalRule {
 public:
  struct Options {
    size_t choices = 0;  // 0: all.
  };
  LeastRequest(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }

  Options options_;
  bench::Generator random_;
  Turns turns_;
};

PolicyDeclaration LeastRequestPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_REQUEST_H_
