// Says when an answer that the router gathers begins anew: no prompt or no engine can go on from its first part.
//
// Its client has nothing of it yet, so it sees no difference. Belongs to the loop of its session.
#ifndef PENSTOCK_ROUTER_SESSION_GATHERED_FRESH_START_H_
#define PENSTOCK_ROUTER_SESSION_GATHERED_FRESH_START_H_

#include "router/session/rules/attempt_end.h"
#include "router/session/rules/resume_rules.h"
#include "router/session/state/session_state.h"

namespace penstock {

class FreshStart {
 public:
  explicit FreshStart(SessionState& state) : state_(state) {}

  // Before the first attempt: an answer that would crowd the memory of answers is not gathered.
  void MindMemory();
  // The next attempt begins anew.
  bool due() const;
  // The engine is well and did not go on with the answer, or gives no stream: no loss for the request.
  bool Excuses(const AttemptEnd& end) const;
  // After an attempt and its step: no engine goes on with the answer, or none can be gathered. True at most twice.
  bool Saves(const AttemptEnd& end, const NextStep& step);
  // The client has nothing of the answer.
  void ForgetAnswer();

 private:
  // The engine shall give the answer whole, as its client asked for it.
  void AskWhole();
  // The engine gives no stream that makes an answer.
  bool NeedsWhole(const AttemptEnd& end) const;
  bool CannotGoOn(const AttemptEnd& end, const NextStep& step) const;

  SessionState& state_;
  bool refused_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_GATHERED_FRESH_START_H_
