#include "router/policies/balancers/power_of_two.h"

#include <algorithm>

#include "router/policies/kit/draw.h"
#include "router/policies/kit/rival_core.h"

namespace penstock {

std::optional<double> PowerOfTwo::ReportedTokens(ReplicaId id) const {
  const std::optional<EngineReport>& report = replica(id).report;
  if (!report || report->kv_used_share < 0 || spec(id).pools.empty()) return std::nullopt;
  const PoolShare& share = spec(id).pools.front();
  const Tokens capacity = share.footprint.TokensWithin(fleet().pools[share.pool.value()].capacity);
  return report->kv_used_share * capacity.AsDouble();
}

RivalRule::Choice PowerOfTwo::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  const std::vector<ReplicaId> drawn = DrawDistinct(candidates, options_.choices, random_);
  const bool by_tokens = !options_.by_requests && std::all_of(drawn.begin(), drawn.end(), [this](ReplicaId id) {
    return ReportedTokens(id).has_value();
  });
  const auto load = [&](ReplicaId id) {
    return by_tokens ? *ReportedTokens(id) : static_cast<double>(replica(id).running);
  };
  return *std::min_element(drawn.begin(), drawn.end(), [&](ReplicaId a, ReplicaId b) { return load(a) < load(b); });
}

PolicyDeclaration PowerOfTwoPolicy() {
  const PowerOfTwo::Options defaults;
  PolicyDeclaration policy;
  policy.name = "power_of_two";
  policy.settings = {
      WholeSetting("choices", static_cast<double>(defaults.choices), 2, 1024, "replicas drawn and compared"),
      WordSetting("load", {"tokens", "requests"},
                  "the compared load: KV tokens last reported, or own requests in flight")};
  policy.alternatives = {"load=requests", "choices=3", "choices=3,load=requests"};
  policy.text = {"Shepherd Model Gateway (SMG, formerly the SGLang router)",
                 "of two replicas drawn, the one with fewer KV tokens reported, or fewer requests in flight",
                 "the reported KV share; its own requests in flight", "nothing more", ""};
  policy.make = [](const PolicyChoice& choice, uint64_t seed) {
    const PowerOfTwo::Options options{static_cast<size_t>(choice["choices"]), choice["load"] != 0};
    return MakeRival<PowerOfTwo>(options, seed);
  };
  return policy;
}

}  // namespace penstock
