// Past-Future: admit while the peak of memory to come, with output lengths drawn from the past, stays within the pool.
//
// For each running request a final length is drawn from the last `window` outputs of its model that are longer than
// what it has made (interpolated, its limit as the last); for the joining one from all of them. Sorted by what remains,
// the peak is the largest sum of what those that end no sooner hold by then. Of at most `lists` such draws (fewer the
// more requests run) the worst counts; it must stay below the pool less the share `reserved`. First come first served.
// Late requests are refused (added: LightLLM lets them wait).
// Rule: Gong et al., "Past-Future Scheduler for LLM Serving under SLA Guarantees" (ASPLOS 2025), and LightLLM's
// scheduler (ModelTC/lightllm, lightllm/server/router/req_queue/; its artifact: reserved 0.05, 200 samples, 5 lists;
// the paper: window 1000). There it sits in each engine; here one instance sees every replica.
#ifndef PENSTOCK_ROUTER_POLICIES_PAST_FUTURE_H_
#define PENSTOCK_ROUTER_POLICIES_PAST_FUTURE_H_

#include <cstdint>
#include <map>

#include "base/generator.h"
#include "router/policies/length_history.h"
#include "router/policies/memory_gate.h"

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
  double NeedWith(PoolId pool, const Footprint& footprint, const RequestArrived& request) override;
  double Expect(const RequestArrived&) const override { return 0; }
  void Learn(const RequestArrived& request, int64_t output) override;
  LengthHistory& HistoryOf(ModelId model);

  Options options_;
  bench::Generator random_;
  std::map<ModelId, LengthHistory> histories_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_PAST_FUTURE_H_
