// Until when a request may wait, and why it is refused after that.
//
// A list of bounds, each with its own refusal. One is the queue time of the class, the other the last instant at which
// the first token can still come within the TTFT goal. Of several bounds that have passed, the first of the list is the
// reason. Invariant: a request that the core took back from an engine is never late. Owned by Rooms. NextCheck is
// O(kinds of servers).
#ifndef PENSTOCK_ROUTER_CORE_QUEUE_LATENESS_H_
#define PENSTOCK_ROUTER_CORE_QUEUE_LATENESS_H_

#include <optional>
#include <vector>

#include "router/core/books/fleet_state.h"
#include "router/core/books/servers.h"
#include "router/core/contract/refusal.h"

namespace penstock {

// A waiting request and what its bounds depend on.
struct LateQuestion {
  const RequestState& request;
  const ClassSpec& goals;
  Servers& servers;
  Duration dispatch_delay;
  Instant now;
};

struct LateBound {
  Refusal reason;
  // The request is late from then on; Never: it is not bound.
  Instant (*at)(const LateQuestion& question);
  // While no server is up, an outage is the reason to wait and the bound refuses no request.
  bool only_while_up;
};

// Every bound, in order of precedence: queue_timeout, deadline.
std::vector<LateBound> AllLateBounds();

class Lateness {
 public:
  Lateness(const FleetState& fleet, Servers& servers, std::vector<LateBound> bounds, bool best_effort_apart)
      : fleet_(fleet), servers_(servers), bounds_(std::move(bounds)), best_effort_apart_(best_effort_apart) {}

  // When the first bound passes as far as is known at `now`.
  Instant LastChance(const RequestState& request, Instant now) const;
  // When the request must be looked at though nothing else happens. One that only its home can take is looked at before
  // its last chance: its home may be down for long by then.
  Instant NextCheck(const RequestState& request, Instant now) const;
  // The same for a request that was checked and is not refused: some time later, so that a timer does not spin.
  Instant NextCheckAfter(const RequestState& request, Instant now) const;
  // True: no server that is up could make the request's TTFT goal if it were idle, not even with the cached prompt.
  // Such a request is never refused for missing it; it is served with what the others leave. It stays so until it could
  // make the goal in the time that it has not waited yet.
  bool BestEffort(const RequestState& request, Instant now) const;
  // Why the request is refused now; nullopt: it goes on waiting. Reads its cached prefix anew where its check is due.
  std::optional<Refusal> ReasonOf(RequestState* request, Instant now) const;

 private:
  LateQuestion QuestionOf(const RequestState& request, Instant now) const;

  const FleetState& fleet_;
  Servers& servers_;
  const std::vector<LateBound> bounds_;
  const bool best_effort_apart_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_QUEUE_LATENESS_H_
