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
  explicit FreshStart(const SessionState& state) : state_(state) {}

  // The next attempt begins anew.
  bool due() const;
  // After an attempt and its step: no engine goes on with the answer. True at most once; due() holds from then on.
  bool Saves(const AttemptEnd& end, const NextStep& step);

 private:
  const SessionState& state_;
  bool refused_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_GATHERED_FRESH_START_H_
