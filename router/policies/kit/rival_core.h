// The decision core of every rival: one queue per model, refusals, and a rule that chooses replicas.
//
// Requests of a model wait in the order of the rule, then first come first served; the head blocks the requests behind
// it. A request that only one replica can take blocks nobody while this home takes no request at all. It is refused
// once this home is down for good. The checks of router/core/contract/admission_checks.h refuse requests as under
// PenstockCore: unknown model, prompt that can never fit, full queue, model down, shutdown. RivalCore also refuses a
// waiting request after the queue time of its class. Where the rule refuses late requests and the class allows it,
// RivalCore compares now - arrival + dispatch delay + d*prompt + a with the TTFT goal. It refuses a request when the
// sum exceeds the goal on the fastest replica of its model. Requests that even an idle fleet could not serve within the
// goal are exempt. Memory is not forecast: a lease promises and holds the memory of the prompt, for the views only.
//
// Contract: AdmissionCore; one caller at a time, deterministic. An event costs O(log waiting) and one Choose() per
// model with waiting requests, and O(1) per waiting request whose home takes none. Token events cost O(log waiting)
// unless the rule retries on them.
#ifndef PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_CORE_H_
#define PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_CORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "router/core/contract/admission_core.h"
#include "router/core/contract/following_core.h"
#include "router/policies/kit/rival_books.h"
#include "router/policies/kit/rival_queue.h"
#include "router/policies/kit/rival_rule.h"

namespace penstock {

class RivalCore : public AdmissionCore, public FollowingCore {
 public:
  explicit RivalCore(std::unique_ptr<RivalRule> rule);

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) final;
  std::optional<Instant> NextDeadline() const final;
  CoreView View(Instant now) const final;
  std::optional<WaitView> WaitOf(RequestId request) const final { return queue_.WaitOf(request); }
  MemoryWaits FindMemoryWaits(Instant now) const final;

  std::optional<Forward> Follow(const FollowedRequest& followed, Instant now) final;
  void Withdraw(RequestId request, Instant now) final;
  bool Forecasts() const final { return false; }

 private:
  using Actions = std::vector<Action>;
  using Waiting = RivalQueue::Waiting;

  void On(const RequestArrived& event, Actions& actions);
  void On(const FirstToken& event);
  void On(const RequestClosed& event);
  void On(const RequestRequeued& event);
  void On(const Progress& event);
  void On(const EngineReport& event);
  void On(const FleetChanged& event);

  // Refuses expired requests and forwards placeable ones, in that order. Then refuses the requests that expire now.
  void Settle(Actions& actions);
  void ExpireBefore(Instant limit, Actions& actions);
  // Refuses the requests of the lane whose replicas, or whose home, are down for good.
  void RefuseLost(ModelId model, Actions& actions);
  void PumpLane(ModelId model, Actions& actions);
  void Dispatch(const Waiting& waiting, ReplicaId replica, Actions& actions);
  void Enqueue(Waiting waiting);
  void EndLease(RequestId request, const RequestClosed* closed);

  // A reason to refuse at once, whatever the load.
  std::optional<Refuse> RefusalAtArrival(const RequestArrived& request) const;
  void SetExpiry(Waiting& waiting) const;

  std::unique_ptr<RivalRule> rule_;
  RivalBooks books_;
  RivalQueue queue_;
  bool draining_ = false;
  int64_t requeues_ = 0;
};

// A core with a new rule of this type.
template <class Rule, class... Arguments>
std::unique_ptr<AdmissionCore> MakeRival(Arguments&&... arguments) {
  return std::make_unique<RivalCore>(std::make_unique<Rule>(std::forward<Arguments>(arguments)...));
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_POLICIES_KIT_RIVAL_CORE_H_
