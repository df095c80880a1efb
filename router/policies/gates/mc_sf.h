// Memory-constrained shortest first: the shortest predicted outputs enter while memory fits at every completion.
//
// A router does not know lengths. The prediction is the mean (or median) of the model's last 1,000 outputs, at most the
// request's own limit; it is fixed at the start. A request that outlives its prediction counts as ending at its next
// step. The request with the shortest prediction goes first, at equal predictions the oldest. It waits while, at any
// predicted completion, the requests still running would hold more than the pool less the share `protect`.
// Late requests are refused, which is an addition: the algorithm has no deadlines.
// Rule: Jaillet, Jiang, Mellou, Molinaro, Podimata, Zhou, "Online Scheduling for LLM Inference with KV Cache
// Constraints" (arXiv 2502.07115), algorithm MC-SF. The setting `protect` is the alpha protection of its benchmarks.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_MC_SF_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_MC_SF_H_

#include <cstdint>
#include <map>

#include "router/policies/gates/memory_gate.h"
#include "router/policies/kit/length_history.h"
#include "router/policies/kit/policy_declaration.h"

namespace penstock {

class McSf final : public MemoryGate {
 public:
  struct Options {
    bool median = false;
    double protect = 0;
  };
  explicit McSf(const Options& options) : MemoryGate(1 - options.protect), options_(options) {}

 private:
  void Forget(ModelId model) override { histories_.erase(model); }
  double OrderOf(const RequestArrived& request) const override { return Expect(request); }
  double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) override;
  double Expect(const RequestArrived& request) const override;
  void Learn(const RequestArrived& request, int64_t output) override;

  Options options_;
  std::map<ModelId, LengthHistory> histories_;
};

PolicyDeclaration McSfPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_MC_SF_H_
