// Penstock's decision core behind AdmissionCore: takes one event through the rooms in one fixed order.
//
// An event changes the books (books/). Then the lanes that it may have opened are pumped (admission/pump). Their first
// waiting requests (queue/) are tried on the replicas that serve the model. The best replica that passes all guards
// takes the request (placement/). Late binding: no request is tied to a replica before it is forwarded. This class has
// no rule of its own. Owned by the caller (CoreHost, a simulator, a test), one call at a time.
//
// Costs are bounded in any fleet of one model. A pump looks at 13 requests of a lane and at the replicas that changed.
// An event pays for kTriesPerEvent tries on others and renews kRefreshPerEvent forecasts. A replica of many models that
// changes costs a pump of each of their lanes where requests wait.
#ifndef PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_
#define PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_

#include <optional>
#include <string>
#include <vector>

#include "router/core/adapters/adapters.h"
#include "router/core/admission/book_check.h"
#include "router/core/admission/core_rules.h"
#include "router/core/admission/entry.h"
#include "router/core/admission/exits.h"
#include "router/core/admission/pump.h"
#include "router/core/admission/rooms.h"
#include "router/core/admission/verdicts.h"
#include "router/core/contract/admission_core.h"
#include "router/core/contract/following_core.h"
#include "router/core/grey/grey_watch.h"
#include "router/core/nodes/node_watch.h"
#include "router/core/relief/eviction.h"
#include "router/core/relief/fatal_pools.h"
#include "router/core/relief/parking.h"
#include "router/core/residency/residents.h"
#include "router/core/shares/shares.h"

namespace penstock {

class PenstockCore : public AdmissionCore, public FollowingCore {
 public:
  explicit PenstockCore(CoreRules rules = {});

  void Apply(const Event& event, Instant now, std::vector<Action>& actions) override;
  std::optional<Instant> NextDeadline() const override;
  CoreView View(Instant now) const override;
  std::optional<WaitView> WaitOf(RequestId request) const override;
  MemoryWaits FindMemoryWaits(Instant now) const override;
  std::optional<Tokens> UnseenOutput(RequestId request) const override;

  std::optional<Forward> Follow(const FollowedRequest& followed, Instant now) override;
  void Withdraw(RequestId request, Instant now) override;
  bool Forecasts() const override { return true; }

  // The first book that differs from the sum of its members, in words; empty: all are right. O(requests).
  std::string CheckBooks() const;

 private:
  using Actions = std::vector<Action>;

  PenstockCore(int64_t events_per_recount, bool grey, CoreRules&& rules);

  // One per kind of event.
  void On(const RequestArrived& event, Actions& actions);
  void On(const FirstToken& event, Actions& actions);
  void On(const RequestClosed& event, Actions& actions);
  void On(const RequestRequeued& event, Actions& actions);
  void On(const AnswerFixed& event, Actions& actions);
  void On(const Progress& event, Actions& actions);
  void On(const EngineReport& event, Actions& actions);
  void On(const ReplicaHealth& event, Actions& actions);
  void On(const ReplicaResidency& event, Actions& actions);
  void On(const ElasticReport& event, Actions& actions);
  void On(const FleetChanged& event, Actions& actions);
  void On(const ShutdownStarted& event, Actions& actions);
  void On(const TimerFired& event, Actions& actions);

  Instant now_;  // Time of the last event; never goes back.
  Rooms rooms_;
  Verdicts verdicts_;
  Recalls recalls_;
  FatalPools relief_;
  Parking parking_;
  Eviction eviction_;
  Entry entry_;
  Exits exits_;
  Pump pump_;
  BookCheck books_;
  Residents residents_;
  Shares shares_;
  Adapters adapters_;
  // Replicas that are slow, by their steps and by their nodes.
  struct Slow {
    GreyWatch grey;
    NodeWatch nodes;
  };
  Slow slow_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PENSTOCK_CORE_H_
