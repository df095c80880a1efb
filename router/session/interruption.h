// The events that end an attempt from outside: the client goes, the core wants the request back, the router ends.
#ifndef PENSTOCK_ROUTER_SESSION_INTERRUPTION_H_
#define PENSTOCK_ROUTER_SESSION_INTERRUPTION_H_

#include <optional>

#include "router/live/ticket.h"
#include "router/session/client/client.h"
#include "router/session/rules/attempt_end.h"

namespace penstock {

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

#endif  // PENSTOCK_ROUTER_SESSION_INTERRUPTION_H_
