// The plain threshold gate: what gateways that read the engines' metrics do.
//
// A replica passes while its last report shows less than 80 % of its KV cache used and fewer than 5 requests waiting.
// Reports are taken as they are, however old: between two of them the gate does not know what it sent itself. Among
// those that pass, the lowest KV use wins, then the fewest waiting, then the one chosen longest ago. A replica that has
// not reported yet passes as an idle one. If none passes, the request waits, and is refused when it can no longer keep
// its TTFT goal.
#ifndef PENSTOCK_BENCH_POLICIES_THRESHOLD_GATE_H_
#define PENSTOCK_BENCH_POLICIES_THRESHOLD_GATE_H_

#include <cstdint>
#include <vector>

#include "bench/policies/rival_core.h"

namespace penstock {

class ThresholdGate final : public RivalCore {
 public:
  struct Options {
    double kv_share_below = 0.8;
    int waiting_below = 5;
  };
  ThresholdGate() : ThresholdGate(Options{0.8, 5}) {}
  explicit ThresholdGate(const Options& options) : options_(options) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return true; }

  Options options_;
  uint64_t choices_ = 0;
  std::vector<uint64_t> chosen_at_;  // By replica: the value of choices_ then.
};

}  // namespace penstock

#endif  // PENSTOCK_BENCH_POLICIES_THRESHOLD_GATE_H_
