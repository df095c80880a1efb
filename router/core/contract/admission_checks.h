// The checks of a request that hold under every policy: it can run at all, the queue has room, its model is not down.
//
// Pure functions of the fleet and the request. PenstockCore and the rivals of router/policies use the same ones, so
// that a comparison of policies compares placement and order only.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CHECKS_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CHECKS_H_

#include <cstdint>
#include <optional>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"

namespace penstock {

// The time for which requests wait after their model's last replica went down. A supervisor mostly restarts an engine
// within it.
inline constexpr Duration kOutageGrace = Duration::Seconds(5);

// The tokens that an estimated prompt has beyond doubt: two standard errors below the estimate. A policy refuses only
// prompts that are surely too large, because the engine counts exactly. `sigma` is the relative standard error.
Tokens SurePrompt(Tokens prompt, double sigma);

// The longest prompt that the replica's context and pools can hold, with one token left for the output.
Tokens LongestPrompt(const Fleet& fleet, const ReplicaSpec& replica);

// The longest prompt that the replica may hold: LongestPrompt, or more where less is in doubt.
Tokens LongestPossible(const ReplicaSpec& replica, Tokens longest);

// Collects the replicas that serve a model, and finds out if one of them can ever hold a request. O(1) per replica.
class FitCheck {
 public:
  FitCheck(const RequestArrived& request, Tokens prompt)
      : request_(request.request), prompt_(prompt), sure_(SurePrompt(prompt, request.prompt_sigma)) {}

  // `longest` is the LongestPrompt of the replica. What is in doubt counts as possible.
  void Add(const ReplicaSpec& replica, Tokens longest);
  bool fits() const { return fits_; }
  // The refusal, with its bound in tokens; nullopt where the request fits. kUnknownModel: no replica. kNeverFits: a
  // context could hold the prompt, but no pool. Else kContextExceeded.
  std::optional<Refuse> Finding() const;

 private:
  RequestId request_;
  Tokens prompt_;
  Tokens sure_;
  bool served_ = false;
  bool fits_ = false;
  Tokens context_{0};    // The largest context of a replica.
  Tokens pool_room_{0};  // The largest LongestPrompt of the replicas whose context could hold the prompt.
};

// True: more requests or bytes wait than the limits allow.
bool QueueIsFull(const CoreLimits& limits, int64_t requests, Bytes bytes);
// The refusal of a request that found the queue full; `requests` wait.
Refuse QueueFullRefusal(RequestId request, const CoreLimits& limits, int64_t requests, Duration retry_after);

// The refusal of a request whose model has no replica up. Nobody knows the end of an outage, and no queue has to drain
// first. Polls find the end within a second, so the hint is a few seconds.
Refuse NoReplicaRefusal(RequestId request);

// The refusal of an arrival while the router drains; a client may retry elsewhere after a second.
Refuse ShutdownRefusal(RequestId request);

// True: requests may be forwarded to the replica. A replica on probation takes one at a time; `tested`: it has one.
bool IsPlaceable(Health health, bool tested);
// True: the replica counts as up for its model.
bool IsUp(Health health);
// True: the replica joins a fleet that has others already. Requests wait for it as for one that went down just now: a
// reload may rename or move the only replica of a model.
bool Joins(const Fleet& before, const Fleet& after, size_t replica);
// True: requests wait for a replica that went down at `down_since`. Instant() means that it was never up.
bool IsAwaited(Instant down_since, Instant now);

// A Retry-After: the seconds until the queue has drained, at least 1 and at most 60.
Duration BoundedRetryAfter(double seconds);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_ADMISSION_CHECKS_H_
