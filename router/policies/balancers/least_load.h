// Least work: the replica that would first finish its waiting work, plus a barrier on its KV use.
//
// score = (queued + sent) / throughput + kv_weight x k / (1 - k), in seconds. The lowest score wins, then the replica
// chosen longest ago. The terms of the score:
//   queued      the waiting requests of the engine's last report, at `mean_prefill` tokens each;
//   sent        the prompt tokens forwarded since that report;
//   throughput  the tokens per second relayed between the last two reports; before these, the setting;
//   k           the reported KV share.
// A replica whose report is missing or 30 s old counts its requests in flight instead. If no replica has reported, the
// fewest requests in flight win. Replicas that report k >= `veto` are passed over unless all do.
// A request waits only while every replica of its model is on probation. The policy refuses nothing for lateness.
// Rule: Shepherd Model Gateway (lightseekorg/smg, model_gateway/src/policies/least_load.rs: 0.15 s, 2000 tokens/s,
// 1024 tokens). The gateway knows prompt tokens on its gRPC path. The veto is the KV ceiling of 0.9 that the gateway
// recommends for `overload_token_usage_threshold`.
#ifndef PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_LOAD_H_
#define PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_LOAD_H_

#include <vector>

#include "router/core/contract/vacancy.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/turns.h"

namespace penstock {

class LeastLoad final : public RivalRule {
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
  void OnFleet() override {
    work_.resize(fleet().replicas.size());
    for (size_t i = 0; i < work_.size(); ++i) {
      if (IsVacant(fleet().replicas[i])) work_[i] = Work();
    }
  }

  bool IsFresh(ReplicaId id) const;
  double Score(ReplicaId id, bool any_fresh, double nominal_throughput) const;

  Options options_;
  std::vector<Work> work_;  // One per replica.
  Turns turns_;
};

PolicyDeclaration LeastLoadPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_BALANCERS_LEAST_LOAD_H_
