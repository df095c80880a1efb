// The ends that an exchange with an engine gives to its attempt.
//
// The client, the ticket and the state of the session tell what ended it. Belongs to the session's loop.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_EXCHANGE_ENDS_H_
#define PENSTOCK_ROUTER_SESSION_STATE_EXCHANGE_ENDS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/dialect/engine_error.h"
#include "backends/transport/upstream.h"
#include "router/live/ticket.h"
#include "router/session/client/client.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

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

// The end of an attempt whose client takes no more: it left, or the answer cannot be what it needs.
AttemptEnd ClientTakesNoMore(const Client& client);

// The end of an attempt whose read failed with `status`: an interruption, or the engine's failure.
AttemptEnd ReadFailed(const SessionState& state, const Ticket& ticket, const absl::Status& status,
                      absl::string_view message, bool in_body);

// The end of an attempt whose request could not be sent: an interruption, or the failure. None: the engine has it.
std::optional<AttemptEnd> SendFailed(const SessionState& state, const Ticket& ticket, const UpstreamExchange& exchange,
                                     const absl::Status& sent);

// An error that the engine sent, as EngineSaid. The fleet hears of a model that it denies, and of one
// that is not in its memory. Where the replica may sleep, the request waits for its wake.
AttemptEnd SaidByEngine(const SessionState& state, const EngineError& error, bool in_stream, bool resume_due);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_EXCHANGE_ENDS_H_
