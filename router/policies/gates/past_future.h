// Past-Future: admit while the future peak of memory, with output lengths drawn from the past, fits into the pool.
//
// For each running request the policy draws a final length from the last `window` outputs of its model that are longer
// than its present output. Between neighbours it interpolates; the request's limit is the last. For the joining request
// it draws from all of them. Sorted by remaining steps, the peak is the largest sum that the requests still running at
// an end hold then. The worst of at most `lists` such draws counts (fewer lists the more requests run). It must stay
// below the pool less the share `reserved`. Requests go first come first served.
// Late requests are refused, which is an addition: LightLLM lets them wait.
// Rule: Gong et al., "Past-Future Scheduler for LLM Serving under SLA Guarantees" (ASPLOS 2025), window 1000.
// LightLLM's scheduler is ModelTC/lightllm, lightllm/server/router/req_queue/; its artifact has reserved 0.05, 200
// samples and 5 lists. There the scheduler is part of each engine; here one instance covers every replica.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_PAST_FUTURE_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_PAST_FUTURE_H_

#include <cstdint>
#include <map>

#include "base/generator.h"
#include "router/policies/gates/memory_gate.h"
#include "router/policies/kit/length_history.h"
#include "router/policies/kit/policy_declaration.h"

namespace penstock {

class PastFuture final : public MemoryGate {
 public:
  struct Options {
    double reserved = 0.05;
    size_t window = 1000;
    size_t lists = 5;
  };
  PastFuture(const Options& options, uint64_t seed)
      : MemoryGate(1 - options.reserved), options_(options), random_(seed) {}

 private:
  void Forget(ModelId model) override { histories_.erase(model); }
  double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) override;
  double Expect(const RequestArrived&) const override { return 0; }
  void Learn(const RequestArrived& request, int64_t output) override;
  LengthHistory& HistoryOf(ModelId model);

  Options options_;
  bench::Generator random_;
  std::map<ModelId, LengthHistory> histories_;
};

PolicyDeclaration PastFuturePolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_PAST_FUTURE_H_
