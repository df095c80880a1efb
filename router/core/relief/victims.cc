#include "router/core/relief/victims.h"

#include <utility>

namespace penstock {
namespace {

// Tokens to compute again; the younger request of two equal ones costs more, so that ties are decided.
std::pair<int64_t, uint64_t> CostOf(const RequestState& request, const FleetState& fleet) {
  const ReplicaState& replica = fleet.replica(request.running.replica);
  return {request.Prompt().value() + replica.streams().Generated(request), request.sequence};
}

}  // namespace

RequestState* VictimIn(const PoolState& pool, const FleetState& fleet) {
  const RequestState* oldest = nullptr;
  for (ReplicaId id : pool.replicas()) {
    for (const RequestState* request : fleet.replica(id).requests()) {
      if (oldest == nullptr || request->sequence < oldest->sequence) oldest = request;
    }
  }
  RequestState* victim = nullptr;
  for (ReplicaId id : pool.replicas()) {
    for (RequestState* request : fleet.replica(id).requests()) {
      if (request == oldest || !request->arrived.regenerable) continue;
      if (victim == nullptr || CostOf(*request, fleet) < CostOf(*victim, fleet)) victim = request;
    }
  }
  return victim;
}

}  // namespace penstock
