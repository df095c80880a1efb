#include "router/core/admission/verdicts.h"

#include "router/core/contract/admission_checks.h"

namespace penstock {

void Verdicts::Send(RequestState* request, const Choice& choice, Instant now, std::vector<Action>& actions) {
  const ReplicaId replica(static_cast<uint32_t>(choice.replica));
  rooms_.running.Start(request, replica, rooms_.placement.GrowthOf(choice), choice.expected_ttft, now);
  rooms_.servers.UpdateFullness(rooms_.fleet.replica(replica), now);
  rooms_.floors.Update(std::span(&choice.replica, 1), now);
  rooms_.waiting.lane(request->arrived.model).Dispatched(*request, now);
  if (request->requeues == 0) rooms_.order->Served(request->arrived);
  actions.push_back(Forward{request->arrived.request, replica, request->running.lease, now - request->arrival,
                            Duration::Seconds(choice.expected_ttft), choice.peak_share});
}

void Verdicts::RefuseWaiting(RequestState* request, Refusal reason, Instant now, std::vector<Action>& actions) {
  const RequestArrived& arrived = request->arrived;
  const Duration retry_after = rooms_.waiting.RetryAfter(arrived.model, now);
  Refuse refuse{arrived.request, reason, retry_after, 0, 0};
  if (reason == Refusal::kQueueFull) {
    const CoreLimits& limits = rooms_.fleet.spec().limits;
    refuse = QueueFullRefusal(arrived.request, limits, rooms_.waiting.requests(), retry_after);
  }
  if (reason == Refusal::kNoReplica) refuse = NoReplicaRefusal(arrived.request);
  actions.push_back(refuse);
  if (reason == Refusal::kDeadlineUnreachable) {
    rooms_.order->Refused(arrived);
    rooms_.waiting.lane(arrived.model).RefusedLate(now);
  }
  rooms_.StopWaiting(request);
  rooms_.waiting.lane(arrived.model).ClassOf(*request).waiting.Settle(*request, 0, now);
  rooms_.requests.Erase(refuse.request);
}

}  // namespace penstock
