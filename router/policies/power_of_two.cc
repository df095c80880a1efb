#include "router/policies/power_of_two.h"

#include <algorithm>

#include "router/policies/draw.h"

namespace penstock {

std::optional<double> PowerOfTwo::ReportedTokens(ReplicaId id) const {
  const std::optional<EngineReport>& report = replica(id).report;
  if (!report || report->kv_used_share < 0 || spec(id).pools.empty()) return std::nullopt;
  const PoolShare& share = spec(id).pools.front();
  const Tokens capacity = share.footprint.TokensWithin(fleet().pools[share.pool.value()].capacity);
  return report->kv_used_share * capacity.AsDouble();
}

RivalCore::Choice PowerOfTwo::Choose(const RequestArrived&, const std::vector<ReplicaId>& candidates) {
  const std::vector<ReplicaId> drawn = DrawDistinct(candidates, options_.choices, random_);
  const bool by_tokens = !options_.by_requests && std::all_of(drawn.begin(), drawn.end(), [this](ReplicaId id) {
    return ReportedTokens(id).has_value();
  });
  const auto load = [&](ReplicaId id) {
    return by_tokens ? *ReportedTokens(id) : static_cast<double>(replica(id).running);
  };
  return *std::min_element(drawn.begin(), drawn.end(), [&](ReplicaId a, ReplicaId b) { return load(a) < load(b); });
}

}  // namespace penstock
