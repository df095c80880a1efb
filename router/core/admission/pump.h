// Tries waiting requests: those of lanes that an event left to do, and those whose time is over.
//
// A pump looks at the first requests of a lane, past kLookPast that do not fit, until none of them can be placed.
// Requests with a reservation come first. An event pays for a bounded number of tries and refusals. Undone work is due
// at once and goes on in timer events, so other events get their turn. Invariant: after PumpOpened no replica is listed
// as opened. Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_

#include <vector>

#include "router/core/admission/reserver.h"
#include "router/core/admission/rooms.h"
#include "router/core/admission/verdicts.h"
#include "router/core/relief/eviction.h"
#include "router/core/relief/parking.h"

namespace penstock {

class Pump {
 public:
  Pump(Rooms& rooms, Verdicts& verdicts, Parking& parking, Eviction& eviction)
      : rooms_(rooms), verdicts_(verdicts), parking_(parking), eviction_(eviction), reserver_(rooms) {}

  // Tries the lanes of models that an opened replica serves, and the lanes that earlier events left unfinished.
  void PumpOpened(Instant now, std::vector<Action>& actions);
  // Refuses all waiting requests of the model, as far as this event can pay for it.
  void RefuseAll(ModelId model, Refusal reason, Instant now, std::vector<Action>& actions);
  // Refuses the requests whose check is due and that are late, and those whose servers are down for good. Parked
  // streams that are due back become candidates. Before that no outage matters to them.
  void RefuseLate(Instant now, std::vector<Action>& actions);
  // When a timer would change something about waiting requests; Never: not before the next event.
  Instant NextDue(Instant now) const;

 private:
  void PumpLane(ModelId model, Instant now, std::vector<Action>& actions);
  // Refuses the requests of the model that need a server now, where all are down for good.
  void RefuseUnserved(ModelId model, Instant now, std::vector<Action>& actions);
  // Returns the requests that were looked at and could not be placed.
  size_t TryLane(ModelId model, Instant now, std::vector<Action>& actions);
  // Fills candidates_ with the requests of the lane to try, in order.
  void FindCandidates(ModelId model, Instant now);
  // Excuses requests that were looked at: those that wait by choice, and those that no lower load would help.
  void ExcuseBlocked(ModelId model);
  // Takes room from running requests for one that was tried everywhere. Returns the replica where the room is.
  std::optional<size_t> MakeRoom(const RequestState& request, Instant now, std::vector<Action>& actions);
  // True: the request was sent to the best of the replicas to try.
  bool TrySend(RequestState* request, Instant now, std::vector<Action>& actions);
  // The same, with room that others make for it.
  bool Place(RequestState* request, Instant now, std::vector<Action>& actions);
  // The request is not late: when it is looked at next, and whether it is served by best effort.
  void CheckAgain(RequestState* request, Instant check, Instant now);

  Rooms& rooms_;
  Verdicts& verdicts_;
  Parking& parking_;
  Eviction& eviction_;
  Reserver reserver_;
  // The memory of one TryLane, reused by the next.
  std::vector<RequestState*> candidates_;
  std::vector<RequestState*> first_;
  std::vector<RequestState*> blocked_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_
