// A request's ticket at the core, from its arrival to its end. The end is reported exactly once.
//
// A ticket that is destroyed open closes as for a vanished client. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_ADMISSION_H_
#define PENSTOCK_ROUTER_SESSION_ADMISSION_H_

#include <optional>

#include "router/live/deadlines.h"
#include "router/live/ticket.h"
#include "router/session/state/session_state.h"

namespace penstock {

class Admission {
 public:
  explicit Admission(SessionState& state) : state_(state) {}

  // Tells the core of the request and estimates its prompt. `holder` must outlive this.
  void Arrive(TicketHolder& holder);
  // The core never hears of the request, because no engine memory is needed for it.
  void StayOut(TicketHolder& holder) { ticket_.emplace(state_.loop, holder); }
  bool arrived() const { return ticket_.has_value(); }
  // After Arrive or StayOut.
  Ticket& ticket() { return *ticket_; }

  // Returns the request to the core for another attempt, with the tokens that its client has. It keeps its place at the
  // replica for the time of `pause`. `returns`: the same replica may take it again.
  void Requeue(bool returns, Duration pause);
  // Nothing if it closed before, or was refused.
  void Close(Outcome outcome);

 private:
  void Return(bool returns);

  SessionState& state_;
  std::optional<Ticket> ticket_;
  std::optional<CoarseDeadline> pause_;  // Until the request returns.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ADMISSION_H_
