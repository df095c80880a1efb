// Consistent hashing with bounded loads: equal prefixes go to one replica while it is not fuller than the others.
//
// Each replica of a model has `replication` points on a ring. A request starts at the hash of its leading
// `prefix_blocks` blocks. It walks on until a replica has, with this request, at most ceil(load_factor x mean) of the
// router's requests in flight. A prompt shorter than one block shares no prefix with others and starts anywhere.
// A request waits only while every replica of its model is on probation. The policy refuses nothing for lateness.
// Rule: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads". KubeAI's PrefixHash strategy applies
// it to prompts (substratusai/kubeai, internal/loadbalancer/balance_chwbl.go; meanLoadFactor 125, replication 256).
// KubeAI hashes the first 100 characters of the first message.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_CHWBL_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_CHWBL_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"

namespace penstock {

class Chwbl final : public RivalRule {
 public:
  struct Options {
    double load_factor = 1.25;
    int replication = 256;
    size_t prefix_blocks = 1;
  };
  explicit Chwbl(const Options& options) : options_(options) {}

 private:
  using Ring = std::vector<std::pair<uint64_t, ReplicaId>>;  // Sorted.

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  void OnFleet() override { rings_.clear(); }
  const Ring& RingOf(ModelId model);
  uint64_t KeyOf(const RequestArrived& request) const;

  Options options_;
  std::map<ModelId, Ring> rings_;
};

PolicyDeclaration ChwblPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_CHWBL_H_
