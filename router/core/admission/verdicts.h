// Carries verdicts out: a request that is forwarded or refused changes the books, and its action is appended.
//
// Invariant: a verdict is the last or next change of its request in the same event; a refused request is forgotten.
// Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_

#include <vector>

#include "router/core/admission/rooms.h"

namespace penstock {

class Verdicts {
 public:
  explicit Verdicts(Rooms& rooms) : rooms_(rooms) {}

  // Forwards a request that is not in its lane, by the last choice of the placement. O(pools x horizons).
  void Send(RequestState* request, const Choice& choice, Instant now, std::vector<Action>& actions);
  // Refuses a waiting request and forgets it.
  void RefuseWaiting(RequestState* request, Refusal reason, Instant now, std::vector<Action>& actions);

 private:
  Rooms& rooms_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_
