// Tries waiting requests: those of lanes that an event left to do, and those whose time is over.
//
// A pump looks at the first requests of a lane, past kLookPast that do not fit, until none of them can be placed. An
// event pays for a bounded number of tries and refusals. Undone work is due at once and goes on in timer events, so
// other events get their turn. Invariant: after PumpOpened no replica is listed as opened.
// Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_

#include <vector>

#include "router/core/admission/rooms.h"
#include "router/core/admission/verdicts.h"

namespace penstock {

class Pump {
 public:
  Pump(Rooms& rooms, Verdicts& verdicts) : rooms_(rooms), verdicts_(verdicts) {}

  // Tries the lanes of models that an opened replica serves, and the lanes that earlier events left unfinished.
  void PumpOpened(Instant now, std::vector<Action>& actions);
  // Refuses the requests whose check is due and that are late, and those whose servers are down for good.
  void RefuseLate(Instant now, std::vector<Action>& actions);
  // When a timer would change something about waiting requests; Never: not before the next event.
  Instant NextDue(Instant now) const;

 private:
  void PumpLane(ModelId model, Instant now, std::vector<Action>& actions);
  // Returns the requests that were looked at and could not be placed.
  size_t TryLane(ModelId model, Instant now, std::vector<Action>& actions);
  // True: no other request may be placed before this one.
  bool Starves(const RequestState& request, Instant now) const;

  Rooms& rooms_;
  Verdicts& verdicts_;
  // The memory of one TryLane, reused by the next.
  std::vector<RequestState*> candidates_;
  std::vector<RequestState*> blocked_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_PUMP_H_
