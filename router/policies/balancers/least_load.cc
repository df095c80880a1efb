#include "router/policies/balancers/least_load.h"

#include <algorithm>
#include <utility>

#include "router/policies/kit/rival_core.h"

namespace penstock {
namespace {

constexpr Duration kStale = Duration::Seconds(30);

}  // namespace

bool LeastLoad::IsFresh(ReplicaId id) const {
  return replica(id).report.has_value() && now() - work_[id.value()].reported <= kStale;
}

double LeastLoad::Score(ReplicaId id, bool any_fresh, double nominal_throughput) const {
  if (!IsFresh(id)) {
    const double running = static_cast<double>(replica(id).running);
    return any_fresh ? running * options_.mean_prefill / nominal_throughput : running;
  }
  const EngineReport& report = *replica(id).report;
  const Work& work = work_[id.value()];
  const double throughput = work.throughput > 0 ? work.throughput : options_.throughput;
  const double k = std::clamp(report.kv_used_share, 0.0, 0.999);
  const double queued = std::max(0, report.waiting) * options_.mean_prefill;
  return (queued + work.sent) / throughput + options_.kv_weight * k / (1 - k);
}

RivalRule::Choice LeastLoad::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  std::vector<ReplicaId> open;
  double throughput = 0;
  int reporting = 0;
  bool any_fresh = false;
  for (ReplicaId id : candidates) {
    const bool fresh = IsFresh(id);
    any_fresh = any_fresh || fresh;
    if (!fresh || options_.veto >= 1 || replica(id).report->kv_used_share < options_.veto) open.push_back(id);
    if (!fresh || work_[id.value()].throughput <= 0) continue;
    throughput += work_[id.value()].throughput;
    ++reporting;
  }
  const double nominal = reporting > 0 ? throughput / reporting : options_.throughput;
  const std::vector<ReplicaId>& compared = open.empty() ? candidates : open;
  const auto rank = [&](ReplicaId id) { return std::pair(Score(id, any_fresh, nominal), turns_.Of(id)); };
  return turns_.Take(
      *std::min_element(compared.begin(), compared.end(), [&](ReplicaId a, ReplicaId b) { return rank(a) < rank(b); }));
}

void LeastLoad::OnDispatched(const Live& live) { work_[live.replica.value()].sent += live.request.prompt.AsDouble(); }

void LeastLoad::OnSteps(ReplicaId id, int64_t steps) {
  const int64_t decoding = replica(id).running - replica(id).prefilling;
  work_[id.value()].made += static_cast<double>(steps * std::max<int64_t>(0, decoding));
}

void LeastLoad::OnReport(ReplicaId id) {
  Work& work = work_[id.value()];
  const double elapsed = (now() - work.reported).seconds();
  if (elapsed > 0) work.throughput = work.made / elapsed;
  work.made = work.sent = 0;
  work.reported = now();
}

PolicyDeclaration LeastLoadPolicy() {
  const LeastLoad::Options defaults;
  PolicyDeclaration policy;
  policy.name = "least_load";
  policy.settings = {
      NumberSetting("kv_weight", defaults.kv_weight, 0, 1000, "seconds of k/(1-k)"),
      NumberSetting("throughput", defaults.throughput, 1, 1e9, "tokens/s of a replica that has shown none"),
      NumberSetting("mean_prefill", defaults.mean_prefill, 1, 1e6, "prompt tokens of a request waiting in the engine"),
      NumberSetting("veto", defaults.veto, 0.01, 1, "reported KV share from which a replica is passed over; 1: never")};
  policy.alternatives = {"veto=0.95", "veto=1", "kv_weight=0.5", "kv_weight=0.05"};
  policy.text = {
      "SMG",
      "(queued + sent since the report) / throughput + weight x k/(1-k); replicas with KV over the veto are "
      "passed over",
      "the reported waiting requests and KV share; the prompts that it sent; the tokens that it relays", "nothing more",
      "Engines report no waiting tokens, so each waiting request of the engine counts `mean_prefill` tokens. "
      "The throughput comes from the relayed tokens."};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<LeastLoad>(
        LeastLoad::Options{choice["kv_weight"], choice["throughput"], choice["mean_prefill"], choice["veto"]});
  };
  return policy;
}

}  // namespace penstock
