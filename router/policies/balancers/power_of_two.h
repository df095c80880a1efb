// Power of two choices: the less loaded one of two replicas drawn at random.
//
// Load is the number of KV tokens in the last report of a replica, however old. Load is this router's requests in
// flight with `load=requests`, and where one of the drawn replicas has reported no KV use. At equal loads the replica
// drawn first wins. A request waits only while every replica of its model is on probation. The policy refuses nothing
// for lateness.
// Rule: Shepherd Model Gateway, formerly the SGLang router (lightseekorg/smg, model_gateway/src/policies/
// power_of_two.rs), with two choices by KV tokens.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_POWER_OF_TWO_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_POWER_OF_TWO_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/generator.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"

namespace penstock {

class PowerOfTwo final : public RivalRule {
 public:
  struct Options {
    size_t choices = 2;
    bool by_requests = false;
  };
  PowerOfTwo(const Options& options, uint64_t seed) : options_(options), random_(seed) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  std::optional<double> ReportedTokens(ReplicaId id) const;

  Options options_;
  bench::Generator random_;
};

PolicyDeclaration PowerOfTwoPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_POWER_OF_TWO_H_
