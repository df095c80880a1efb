// Reserve the limit: every request counts its prompt and all the tokens it may make, from its start to its end.
//
// A request without a limit counts `limit` output tokens. It waits until the reservations of a pool leave room for its
// own within `share` of the pool. Never preempts where clients state honest limits; wastes what they do not use.
// Late requests are refused (added: the engines that reserve so do not refuse).
// Rule: Orca (OSDI 2022), TensorRT-LLM's scheduler policy GUARANTEED_NO_EVICT, Text Generation Inference's budget of
// --max-batch-total-tokens.
#ifndef PENSTOCK_ROUTER_POLICIES_MAX_TOKENS_H_
#define PENSTOCK_ROUTER_POLICIES_MAX_TOKENS_H_

#include <vector>

#include "router/policies/memory_gate.h"

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

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_MAX_TOKENS_H_
