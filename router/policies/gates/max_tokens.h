// Reserve the limit: from its start to its end every request counts its prompt and all the tokens that it may make.
//
// A request without a limit counts `limit` output tokens. It waits until the reservations of a pool leave room for it
// within `share` of the pool. The policy never preempts where clients state honest limits; it wastes the memory that
// they do not use. Late requests are refused, which is an addition: the engines with this rule do not refuse.
// Rule: Orca (OSDI 2022), TensorRT-LLM's scheduler policy GUARANTEED_NO_EVICT, Text Generation Inference's budget of
// --max-batch-total-tokens.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_MAX_TOKENS_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_MAX_TOKENS_H_

#include <vector>

#include "router/policies/gates/memory_gate.h"
#include "router/policies/kit/policy_declaration.h"

namespace penstock {

class MaxTokens final : public MemoryGate {
 public:
  struct Options {
    double limit = 1024;
    double share = 1;
  };
  explicit MaxTokens(const Options& options) : MemoryGate(options.share), options_(options) {}

 private:
  double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) override;
  double Expect(const RequestArrived& request) const override;
  double Reservation(const Footprint& footprint, const RequestArrived& request, double output) const;

  Options options_;
};

PolicyDeclaration MaxTokensPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_MAX_TOKENS_H_
