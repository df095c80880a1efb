// A request's ticket at the core, from its arrival to its end. The end is reported exactly once.
//
// A ticket that is destroyed open closes as for a vanished client. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_ADMISSION_H_
#define PENSTOCK_ROUTER_SESSION_ADMISSION_H_

#include <optional>

#include "router/live/ticket.h"
#include "router/session/client/client.h"
#include "router/session/rules/attempt_end.h"
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

  // Returns the request to the core for another attempt, with the tokens that its client has.
  void Requeue(bool aborted);
  // Nothing if it closed before, or was refused.
  void Close(Outcome outcome);

 private:
  SessionState& state_;
  std::optional<Ticket> ticket_;
};

// The events that end an attempt from outside: the client goes, the core wants the request back, the router ends.
class Interruption {
 public:
  Interruption(const Client& client, const Ticket& ticket) : client_(client), ticket_(ticket) {}

  bool any() const { return client_.gone() || ticket_.cut() || ticket_.abort_requested(); }
  // The end that it makes of the attempt; the first of several counts in the order above, but a cut before an abort.
  std::optional<AttemptEnd> End() const {
    if (client_.gone()) return EndedBy(AttemptEnd::Kind::kClientGone);
    if (ticket_.cut()) return EndedBy(AttemptEnd::Kind::kCut);
    if (ticket_.abort_requested()) return EndedBy(AttemptEnd::Kind::kAborted);
    return std::nullopt;
  }

 private:
  const Client& client_;
  const Ticket& ticket_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_ADMISSION_H_
