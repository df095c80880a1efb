// The replicas that may sleep: decides which of them wake and which give their memory back, and follows the orders.
//
// A review looks at the waiting demand that no awake replica serves in time, most urgent model first. For each it marks
// a sleeping replica as wanted, and others as leaving where memory is missing (wake_planner.h). A leaver sleeps once it
// is idle. A wanted replica wakes once its memory is there. Until then each review plans anew: a wake that nobody waits
// for any more is dropped, and its leavers stay. A replica that was idle for its `after` sleeps. An idle replica sleeps
// sooner where it keeps the memory from sleeping models that are asked for more: their wake then waits for nobody.
// Where the memory of a host is bounded, each sleep is at the level that has room (host_memory.h); a replica that has
// none stays awake. Reviews follow events that matter to them, and timers. Invariant: no order of this class makes the
// awake, waking and falling-asleep replicas of a GPU exceed its memory. Owned by PenstockCore. Costs nothing while no
// replica may sleep. A review is O(residents + models + plans).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENTS_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENTS_H_

#include <memory>
#include <string>
#include <vector>

#include "router/core/contract/action.h"
#include "router/core/queue/work_list.h"
#include "router/core/residency/wake_planner.h"

namespace penstock {

class Residents {
 public:
  Residents(FleetState& fleet, Servers& servers, const WaitingRoom& waiting, const Forecasts& forecasts, WorkList& work)
      : fleet_(fleet),
        servers_(servers),
        waiting_(waiting),
        work_(work),
        memory_(fleet),
        demand_(fleet, servers, waiting, forecasts),
        hosts_(fleet),
        planner_(fleet, servers, memory_, hosts_, demand_) {}

  // The fleet has a new description.
  void Configure(Instant now);
  bool any() const { return !residents_.empty(); }

  // A request arrived and waits or runs; null: it was refused.
  void Arrived(const RequestState* request, Instant now);
  // The request leaves its lane or its replica; null: nobody knows it. `finished`: its engine ended it well.
  void Leaves(const RequestState* request, Instant now, bool finished = false);
  void Told(const ReplicaResidency& event, Instant now);
  // Something else changed that a review looks at.
  void Touch() { touched_ = true; }

  // Looks at all of it where an event or a timer asks for that.
  void Review(Instant now, std::vector<Action>& actions);
  // When a review is due though nothing else happens; Never: not before an event.
  Instant NextDue() const;

  // Adds its part of a view, behind that of the fleet.
  void Show(CoreView& view) const;
  // The first GPU whose memory orders of this class exceed, in words; empty: none.
  std::string FirstDrift() const;

 private:
  using Actions = std::vector<Action>;
  // The search for room ahead of demand.
  struct RoomSearch {
    Instant next;  // Not before then.
    bool open = false;
  };

  Presence& PresenceOf(const Resident& resident) { return fleet_.replicas()[resident.replica()].presence; }
  const ReplicaState& StateOf(const Resident& resident) const { return fleet_.replicas()[resident.replica()]; }
  // The presence of the replica changed: the rooms that read it follow.
  void Changed(const Resident& resident, Instant now);

  // And finds those that cannot get their memory.
  void SettleOrders(Instant now);
  void FindNeeds(Instant now);
  void PlanWakes(Instant now);
  // Lets idle replicas leave ahead of demand, where a sleeping model would have to wait for memory.
  void KeepRoom(Instant now);
  // True: the model sleeps and lacks memory for a wake, whichever of its servers wakes.
  bool LacksRoom(ModelId model) const;
  // Each gets the level at which it will sleep, those first that have one only.
  void Leave(const std::vector<size_t>& leavers);
  // The rooms that read the plan follow where it changed.
  void ShowPlan(Instant now);
  void OrderSleeps(Instant now, Actions& actions);
  void OrderWakes(Instant now, Actions& actions);
  bool IsIdle(const Resident& resident) const;
  Instant NextReview(Instant now) const;

  FleetState& fleet_;
  Servers& servers_;
  const WaitingRoom& waiting_;
  WorkList& work_;
  GpuMemory memory_;
  UnmetDemand demand_;
  HostMemory hosts_;
  WakePlanner planner_;
  std::vector<std::unique_ptr<Resident>> residents_;
  std::vector<Resident*> by_replica_;  // Null: it never sleeps.
  std::vector<Need> needs_;            // Of the last review, most urgent first.
  Instant reviewed_at_;
  RoomSearch room_;
  Instant next_review_ = Instant::Never();
  bool touched_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_RESIDENTS_H_
