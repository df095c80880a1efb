// The guards on batch rows and time: whether a request may join a replica now, as far as its memory is not asked.
//
// A named list, tested in order; the first guard that does not hold is the reason to wait (f the learned factor, A
// pairs):
//   sequences        the engine's batch has a free row for each sequence
//   runway           at most two step budgets of prefill are on their way already, or no more than the request's cached
//                    prompt saves: another replica would have to compute that instead; a request of an evictable class
//                    also leaves room for newcomers (giving_way.h)
//   first_token      waited + host + rem + D(left + prompt) <= 0.97 TTFT, host the learned time outside of the steps,
//                    D(P) = ceil(P / (budget - B)) step + f (d P + e A)
//   running_streams  no decoding or prefilling stream that is still on time would miss its next token: a test of
//                    slack, never of one step's length; and the steady state keeps TPOT
// A prompt counts by what is left of it after expected prefix cache hits. A guard may delay; only a deadline refuses.
// An idle replica passes every guard. Goals of classes that are not refused for lateness take no part.
// Invariant: the list stands in rising rank of its reasons (wait_reason.h). Pure functions; a test costs
// O(classes + prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_GUARDS_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_GUARDS_H_

#include <optional>
#include <vector>

#include "kvmodel/prefill_work.h"
#include "router/core/books/fleet_state.h"
#include "router/core/contract/wait_reason.h"
#include "router/core/learning/firm_demand.h"

namespace penstock {

// True: only a request whose cached prompt saves as much as is on its way passes the guard "runway".
bool RunwayIsLong(const ReplicaState& replica);

// Until then no request at all passes the guard "running_streams", unless the replica changes; `now` or earlier: one
// may. O(classes x neighbours).
Instant StreamsCloseUntil(const ReplicaState& replica, const FleetState& fleet, Instant now);

// The next steps of a replica with one request more.
struct StepOutlook {
  PrefillWork queued;  // To compute until the request's first token: the backlog and its own.
  PrefillWork first;   // The part of it that the first step computes.
  double budget;       // Prefill tokens per step beside the decodes.
  double step;         // Seconds of a step without prefill.
  PrefillPrice price;
  double remainder;      // Seconds until the step in flight ends.
  double host_time = 0;  // Seconds of a first token that no step explains.
  double ahead = 0;      // Seconds until another engine has handed the request's cache over.
  double load = 0;       // Seconds of its own prefill that load cached blocks from the host.

  double Steps(const PrefillWork& prefill) const;
  // Seconds to compute so much.
  double Done(const PrefillWork& prefill) const { return Steps(prefill) * step + price.Of(prefill); }
  double ExpectedTtft() const { return ahead + host_time + remainder + Done(queued); }
};

struct GuardQuestion {
  const RequestState& request;
  const ReplicaState& replica;
  const std::vector<ClassSpec>& classes;
  Tokens cached;  // Leading tokens of the prompt that the replica need not compute.
  int busy_neighbours;
  StepOutlook outlook;
  Instant now;
  const FirmDemand& demand;

  const ClassSpec& goals() const { return classes[request.arrived.service_class.value()]; }
};
GuardQuestion QuestionFor(const RequestState& request, const ReplicaState& replica, const FleetState& fleet,
                          Instant now);

struct Guard {
  WaitReason reason;
  bool (*holds)(const GuardQuestion& question);

  absl::string_view name() const { return TraitsOf(reason).label; }
};

// Every guard, in order.
std::vector<Guard> AllGuards();
// The same, but an evictable class has one prompt at a time on its way, and leaves no other room.
std::vector<Guard> GuardsWithoutNewcomers();

// The reason of the first guard that does not hold; nullopt: the request may join as far as time goes.
std::optional<WaitReason> FirstBroken(const std::vector<Guard>& guards, const GuardQuestion& question);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_GUARDS_H_
