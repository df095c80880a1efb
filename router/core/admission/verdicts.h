// Carries verdicts out: a request that is forwarded or refused changes the books, and its action is appended.
//
// A Retry-After is learned where a request was late (learning/retry_hint.h). Else it is the time in which the queue
// drains. Invariant: a verdict is the last or next change of its request in the same event; a refused request is
// forgotten. Owned by PenstockCore.
#ifndef PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_
#define PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_

#include <vector>

#include "router/core/admission/rooms.h"
#include "router/core/learning/retry_hint.h"

namespace penstock {

class Verdicts {
 public:
  explicit Verdicts(Rooms& rooms) : rooms_(rooms) {}

  // The fleet has a new description: the hints of vacant models and classes are forgotten.
  void Configure();
  // A request arrived. It may tell whether clients that were refused before it came back at a good time.
  void Arrived(RequestState* request, Instant now);
  // Forwards a request that is not in its lane, by the last choice of the placement. O(pools x horizons).
  void Send(RequestState* request, const Choice& choice, Instant now, std::vector<Action>& actions);
  // Refuses a waiting request and forgets it.
  void RefuseWaiting(RequestState* request, Refusal reason, Instant now, std::vector<Action>& actions);
  // The refusal of a request none of whose servers is up. O(servers).
  penstock::Refuse NoReplica(const RequestArrived& arrived) const;
  // Refuses one before it is late where EarlyRefusal says so; false: it waits on.
  bool RefusesEarly(RequestState* request, Instant now, std::vector<Action>& actions);

  // Requests that went to the last replica of their session, where its name alone spoke for cached tokens.
  int64_t hinted() const { return hinted_; }

 private:
  void Refuse(RequestState* request, penstock::Refuse refuse, Instant now, std::vector<Action>& actions);

  RetryHint& HintOf(const RequestArrived& arrived);

  Rooms& rooms_;
  int64_t hinted_ = 0;
  std::vector<std::vector<RetryHint>> hints_;  // The hints by model and class, as far as they were asked for.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_ADMISSION_VERDICTS_H_
