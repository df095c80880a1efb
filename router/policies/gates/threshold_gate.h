// The plain threshold gate: the rule of gateways that read the engines' metrics.
//
// A replica passes while its last report shows less than `kv` of its KV cache used and fewer than `queue` requests
// waiting. The gate reads reports however old: between two reports it ignores its own forwards. Among the passing
// replicas the lowest KV use wins, then the fewest waiting, then the replica chosen longest ago. A replica without a
// report passes as idle. If no replica passes, the request waits. The gate refuses it when it can no longer meet its
// TTFT goal.
// Rule: the first pod filter of the Gateway API Inference Extension (thresholds 0.8 and 5). The refusal of late
// requests is an addition.
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_THRESHOLD_GATE_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_THRESHOLD_GATE_H_

#include <cstdint>
#include <vector>

#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/turns.h"

namespace penstock {

class ThresholdGate final : public RivalRule {
 public:
  struct Options {
    double kv_share_below = 0.8;
    double waiting_below = 5;
  };
  ThresholdGate() : ThresholdGate(Options{0.8, 5}) {}
  explicit ThresholdGate(const Options& options) : options_(options) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return true; }

  Options options_;
  Turns turns_;
};

PolicyDeclaration ThresholdGatePolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_THRESHOLD_GATE_H_
