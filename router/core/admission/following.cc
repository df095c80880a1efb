#include "router/core/admission/following.h"

#include <variant>
#include <vector>

namespace penstock {

bool WithdrawRequest(Rooms& rooms, RequestId id, Instant now) {
  RequestState* request = rooms.requests.Find(id);
  if (request == nullptr) return false;
  if (request->phase == RequestPhase::kWaiting) {
    rooms.StopWaiting(request, now);
    rooms.work.LetOthersPast(request->arrived.model);
  } else {
    rooms.placement.pairs.End(request, now);
    const ReplicaState& replica = rooms.fleet.replica(request->running.replica);
    if (request->phase == RequestPhase::kAborting) {
      // Nothing was aborted, so the memory is free at once.
      rooms.running.EndRecall(*request, now);
    } else {
      rooms.running.Leave(request, now);
      rooms.fleet.ledger().Release(request->running.lease);
    }
    rooms.work.Open(replica);
  }
  rooms.waiting.lane(request->arrived.model).ClassOf(*request).waiting.Settle(*request, 0, now);
  rooms.requests.Erase(id);
  return true;
}

Forward AdoptRequest(Rooms& rooms, Entry& entry, Verdicts& verdicts, const FollowedRequest& followed, bool again,
                     Instant now) {
  RequestState* request = entry.Add(followed.request, followed.arrived, now);
  request->kept = followed.generated;
  // A request counts once among those that were served.
  request->requeues = again || followed.generated > Tokens(0) ? 1 : 0;
  rooms.forecasts.Prepare(request);
  std::vector<Action> actions;
  verdicts.Send(request, rooms.placement.At(*request, followed.replica.value(), now), now, actions);
  if (followed.begun && rooms.running.TakeFirstToken(request, now)) {
    rooms.work.Open(rooms.fleet.replica(followed.replica));
  }
  return std::get<Forward>(actions.back());
}

}  // namespace penstock
