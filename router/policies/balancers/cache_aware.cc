#include "router/policies/balancers/cache_aware.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "router/policies/kit/rival_core.h"

namespace penstock {

bool CacheAware::Imbalanced(const std::vector<ReplicaId>& candidates) const {
  const auto [least, most] =
      std::minmax_element(candidates.begin(), candidates.end(),
                          [this](ReplicaId a, ReplicaId b) { return replica(a).running < replica(b).running; });
  const double low = static_cast<double>(replica(*least).running);
  const double high = static_cast<double>(replica(*most).running);
  if (high - low > options_.balance_abs && high > options_.balance_rel * low) return true;
  return std::any_of(candidates.begin(), candidates.end(), [this](ReplicaId id) {
    const std::optional<EngineReport>& report = replica(id).report;
    return report && report->kv_used_share > options_.overload;
  });
}

ReplicaId CacheAware::ByCache(const RequestArrived& request, const std::vector<ReplicaId>& candidates) const {
  const auto match = [&](ReplicaId id) {
    return std::tuple(-index_.Matched(id, request, now()), replica(id).running, turns_.Of(id));
  };
  const ReplicaId best = *std::min_element(candidates.begin(), candidates.end(),
                                           [&](ReplicaId a, ReplicaId b) { return match(a) < match(b); });
  const double matched = index_.Matched(best, request, now()).AsDouble();
  if (matched > options_.cache_threshold * std::max(1.0, request.prompt.AsDouble())) return best;
  const auto size = [this](ReplicaId id) { return std::pair(index_.Size(id), turns_.Of(id)); };
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](ReplicaId a, ReplicaId b) { return size(a) < size(b); });
}

RivalRule::Choice CacheAware::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  ReplicaId chosen = candidates.front();
  if (Imbalanced(candidates)) {
    const auto load = [this](ReplicaId id) { return std::pair(replica(id).running, turns_.Of(id)); };
    chosen = *std::min_element(candidates.begin(), candidates.end(),
                               [&](ReplicaId a, ReplicaId b) { return load(a) < load(b); });
  } else {
    chosen = ByCache(request, candidates);
  }
  index_.Insert(chosen, request, now());
  return turns_.Take(chosen);
}

PolicyDeclaration CacheAwarePolicy() {
  const CacheAware::Options defaults;
  PolicyDeclaration policy;
  policy.name = "cache_aware";
  policy.settings = {
      NumberSetting("cache_threshold", defaults.cache_threshold, 0, 1,
                    "share of the prompt that must match to follow the cache"),
      NumberSetting("balance_abs", defaults.balance_abs, 0, 1e6,
                    "requests between fullest and emptiest replica that count as imbalance"),
      NumberSetting("balance_rel", defaults.balance_rel, 1, 1e6, "ratio between them that counts as imbalance"),
      NumberSetting("overload", defaults.overload, 0.01, 1,
                    "reported KV share above which balance goes before cache; 1: off"),
      NumberSetting("tree_tokens", defaults.tree_tokens.AsDouble(), 512, 1e12, "tokens remembered per replica")};
  policy.alternatives = {"cache_threshold=0.5,balance_abs=32,balance_rel=1.1", "balance_abs=8,balance_rel=1.1",
                         "overload=0.9"};
  policy.text = {"SGLang router, SMG",
                 "while balanced: the longest prefix sent there, else the smallest tree; imbalanced: the fewest "
                 "requests in flight",
                 "the prompts that it sent; its own requests in flight; with `overload` the reported KV share",
                 "nothing more", "The policy remembers the prompts that it sent. It reads no cache events of engines."};
  policy.make = [](const PolicyChoice& choice, uint64_t) {
    return MakeRival<CacheAware>(CacheAware::Options{choice["cache_threshold"], choice["balance_abs"],
                                                     choice["balance_rel"], choice["overload"],
                                                     Tokens(static_cast<int64_t>(choice["tree_tokens"]))});
  };
  return policy;
}

}  // namespace penstock
