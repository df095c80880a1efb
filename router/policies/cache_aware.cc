#include "router/policies/cache_aware.h"

#include <algorithm>
#include <tuple>
#include <utility>

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

RivalCore::Choice CacheAware::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
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

}  // namespace penstock
