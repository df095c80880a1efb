// A decision core whose books can follow the decisions of somebody else.
//
// A shadow decides beside the core that is in charge. Where the two differ, Follow and Withdraw bring its books to what
// was really done, so the next decision starts from the same state. Neither decides anything: what they open is looked
// at within the next Apply. The caller, the time and the determinism are those of AdmissionCore.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_FOLLOWING_CORE_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_FOLLOWING_CORE_H_

#include <optional>

#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

// A request that somebody else sent to a replica.
struct FollowedRequest {
  RequestArrived request;
  Instant arrived;
  Tokens generated{0};  // Sent to its client so far, by all tries.
  ReplicaId replica;
  bool begun = false;  // Its first token of this try has come.
};

class FollowingCore {
 public:
  virtual ~FollowingCore() = default;

  // The request runs on the replica from now on, wherever the books had it, and if they lacked it. Returns the forward
  // as this core describes it; nullopt: the replica is unknown, and the request is in the books no more.
  virtual std::optional<Forward> Follow(const FollowedRequest& followed, Instant now) = 0;
  // The request leaves the books as if it had never been placed: no engine has seen it. Void for unknown requests.
  virtual void Withdraw(RequestId request, Instant now) = 0;
  // True: expected_ttft and peak_share of its forwards are forecasts, and not stand-ins.
  virtual bool Forecasts() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_FOLLOWING_CORE_H_
