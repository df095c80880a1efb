// Least work: the replica that would be done first with what waits there, plus a barrier on its KV use.
//
// score = (queued + sent) / throughput + kv_weight x k / (1 - k), in seconds; the lowest wins, then the one chosen
// longest ago. `queued` is what the engine last reported as waiting, at `mean_prefill` tokens each; `sent` the prompts
// forwarded since that report; `throughput` the tokens per second relayed between its last two reports, or the setting
// while there were none; k the reported KV share. A replica whose report is missing or 30 s old counts its requests in
// flight instead, and if none has reported, the fewest win. Replicas that report k >= `veto` are passed over unless all
// do. Nothing waits but requests whose every replica is being probed; nothing is refused for lateness. Rule: Shepherd
// Model Gateway (lightseekorg/smg, model_gateway/src/policies/least_load.rs: 0.15 s, 2000 tokens/s, 1024 tokens), which
// knows prompt tokens on its gRPC path; the veto is that of a KV ceiling of 0.9, as it recommends for
// `overload_token_usage_threshold`.
#ifndef PENSTOCK_ROUTER_POLICIES_LEAST_LOAD_H_
#define PENSTOCK_ROUTER_POLICIES_LEAST_LOAD_H_

#include <vector>

#include "router/policies/rival_core.h"
#include "router/policies/turns.h"

namespace penstock {

class LeastLoad final : public RivalCore {
 public:
  struct Options {
    double kv_weight = 0.15;
    double throughput = 2000;
    double mean_prefill = 1024;
    double veto = 0.9;
  };
  explicit LeastLoad(const Options& options) : options_(options) {}

 private:
  struct Work {
    double sent = 0;  // Prompt tokens since the last report.
    double made = 0;  // Tokens relayed since then.
    double throughput = 0;
    Instant reported;
  };

  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  void OnDispatched(const Live& live) override;
  void OnReport(ReplicaId id) override;
  void OnSteps(ReplicaId id, int64_t steps) override;
  void OnFleet() override { work_.resize(fleet().replicas.size()); }

  bool IsFresh(ReplicaId id) const;
  double Score(ReplicaId id, bool any_fresh, double nominal_throughput) const;

  Options options_;
  std::vector<Work> work_;  // By replica.
  Turns turns_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_LEAST_LOAD_H_
