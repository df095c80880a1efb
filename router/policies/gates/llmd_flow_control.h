// Flow control of llm-d and the Gateway API Inference Extension: requests wait at the gateway while the pool is full.
//
// Saturation is the mean fullness of the model's replicas. While it is at least 1 every request waits, in order. A
// request waits until saturation falls or `ttl` is over (0: the queue time of its class); that is the only refusal.
// The fullness of a replica:
//   by utilization: max(waiting / queue, KV share / kv) of the last report, however old;
//   by concurrency: own requests in flight / max.
// A forwarded request goes to a replica that is below its own limits, widened by `headroom` (to any if none is). The
// highest sum of 2 x shortest queue + 2 x free KV + 3 x matched part of the prompt wins, each term in 0..1. The policy
// draws between equal replicas. A replica that has never reported counts as idle here. The gateway takes it as full,
// and reports older than 200 ms too, which suits its polls every 50 ms.
// Rule: kubernetes-sigs/gateway-api-inference-extension, folder pkg/epp. Its detectors are
// framework/plugins/flowcontrol/saturationdetector/{utilization,concurrency} (5 waiting, 0.8; 100 in flight; headroom
// 0). Its queue is flowcontrol/controller/config.go (no TTL by default). The scorers and weights are those of its
// standard profile (queue 2, KV cache 2, prefix cache 3).
#ifndef PENSTOCK_ROUTER_POLICIES_GATES_LLMD_FLOW_CONTROL_H_
#define PENSTOCK_ROUTER_POLICIES_GATES_LLMD_FLOW_CONTROL_H_

#include <cstdint>
#include <vector>

#include "base/generator.h"
#include "router/policies/kit/policy_declaration.h"
#include "router/policies/kit/rival_rule.h"
#include "router/policies/kit/sent_prefixes.h"

namespace penstock {

class LlmdFlowControl final : public RivalRule {
 public:
  struct Options {
    bool by_concurrency = false;
    double queue = 5;
    double kv = 0.8;
    double in_flight = 100;
    double headroom = 0;
    Duration ttl;  // Zero: the class's queue time.
  };
  LlmdFlowControl(const Options& options, uint64_t seed) : options_(options), random_(seed), index_({}) {}

 private:
  Choice Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) override;
  bool RefusesLate() const override { return false; }
  Duration QueueTime(const ClassSpec& service_class) const override;
  void OnDispatched(const Live& live) override { index_.Insert(live.replica, live.request, now()); }
  void OnFleet() override { index_.FollowFleet(fleet()); }

  double Fullness(ReplicaId id) const;
  double WaitingAt(ReplicaId id) const;
  double KvAt(ReplicaId id) const;
  ReplicaId BestOf(const RequestArrived& request, const std::vector<ReplicaId>& replicas);

  Options options_;
  bench::Generator random_;
  SentPrefixes index_;
};

PolicyDeclaration LlmdUtilizationPolicy();
PolicyDeclaration LlmdConcurrencyPolicy();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_GATES_LLMD_FLOW_CONTROL_H_
