#include "router/policies/gates/threshold_gate.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "router/policies/kit/rival_core.h"

namespace penstock {

RivalRule::Choice ThresholdGate::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  using Score = std::tuple<double, int, uint64_t>;
  std::optional<Score> best_score;
  ReplicaId best;
  bool memory_full = false;
  for (ReplicaId id : candidates) {
    const std::optional<EngineReport>& report = replica(id).report;
    const double kv = report ? std::max(0.0, report->kv_used_share) : 0;
    const int waiting = report ? std::max(0, report->waiting) : 0;
    memory_full = memory_full || kv >= options_.kv_share_below;
    if (kv >= options_.kv_share_below || waiting >= options_.waiting_below) continue;
    const Score score{kv, waiting, turns_.Of(id)};
    if (best_score && *best_score <= score) continue;
    best_score = score;
    best = id;
  }
  if (!best_score) return memory_full ? WaitReason::kMemory : WaitReason::kRunway;
  return turns_.Take(best);
}

PolicyDeclaration ThresholdGatePolicy() {
  const ThresholdGate::Options defaults;
  PolicyDeclaration policy;
  policy.name = "threshold_gate";
  policy.settings = {
      NumberSetting("kv", defaults.kv_share_below, 0.01, 1.01, "KV share below which a replica passes"),
      NumberSetting("queue", defaults.waiting_below, 0.01, 1e6, "waiting requests below which a replica passes")};
  policy.alternatives = {"kv=0.9", "kv=0.9,queue=10", "queue=2"};
  policy.text = {"the first pod filter of the Gateway API Inference Extension",
                 "KV use and waiting requests below thresholds; the least KV use, then the fewest waiting",
                 "the reported waiting requests and KV share", "late (added); queue time", ""};
  policy.report_period = Duration::Milliseconds(50);
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<ThresholdGate>(ThresholdGate::Options{choice["kv"], choice["queue"]});
  };
  return policy;
}

}  // namespace penstock
