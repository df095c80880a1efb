#include "router/policies/round_robin.h"

#include <algorithm>

namespace penstock {

RivalCore::Choice RoundRobin::Choose(const RequestArrived& request, const std::vector<ReplicaId>& candidates) {
  const auto [last, first_time] = last_.try_emplace(request.model, candidates.back());
  const auto next = std::upper_bound(candidates.begin(), candidates.end(), last->second);
  last->second = next == candidates.end() ? candidates.front() : *next;
  return last->second;
}

}  // namespace penstock
