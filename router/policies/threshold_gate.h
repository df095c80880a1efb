// The plain threshold gate: what gateways that read the engines' metrics do.
//
// A replica passes while its last report shows less than `kv` of its KV cache used (80 %) and fewer than `queue`
// requests waiting (5).
// Reports are taken as they are, however old: between two of them the gate does not know what it sent itself. Among
// those that pass, the lowest KV use wins, then the fewest waiting, then the one chosen longest ago. A replica that has
// not reported yet passes as an idle one. If none passes, the request waits, and is refused when it can no longer keep
// its TTFT goal. Rule: the pod filter that the Gateway API Inference Extension started with (thresholds 0.8 and 5),
// with refusal by deadline added.
#ifndef PENSTOCK_ROUTER_POLICIES_THRESHOLD_GATE_H_
#define PENSTOCK_ROUTER_POLICIES_THRESHOLD_GATE_H_

#include <cstdint>
#include <vector>

#include "router/policies/rival_core.h"
#include "router/policies/turns.h"

namespace penstock {

class ThresholdGate final : public RivalCore {
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

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_THRESHOLD_GATE_H_
