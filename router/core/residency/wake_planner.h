// Chooses the replica that wakes for waiting requests, and those that give it their memory.
//
// Of the sleeping servers of the model, the one is chosen that needs the fewest running replicas to leave. Then the
// least value decides, then the number of busy neighbours. On each GPU the idle replicas leave first, the least
// valuable before the others. A busy one leaves only where the waiting requests are worth clearly more than what it
// would serve meanwhile. Invariant: nobody leaves within its least stay. Owned by Residents.
// O(sleeping servers x replicas of their GPUs).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_

#include <optional>
#include <tuple>
#include <vector>

#include "router/core/residency/gpu_memory.h"
#include "router/core/residency/resident.h"
#include "router/core/residency/unmet_demand.h"

namespace penstock {

struct WakePlan {
  size_t replica = 0;
  std::vector<size_t> leavers;  // Their positions.
  int busy = 0;                 // Leavers that run something.
  double value = 0;             // Tokens that they would serve meanwhile.
  int neighbours = 0;           // Busy ones that stay.

  auto Cost() const { return std::tie(busy, value, neighbours, replica); }
};

class WakePlanner {
 public:
  // Waiting tokens must be worth so many times those that a busy replica would serve.
  static constexpr double kHysteresis = 2;

  WakePlanner(const FleetState& fleet, const Servers& servers, const GpuMemory& memory, const UnmetDemand& demand)
      : fleet_(fleet), servers_(servers), memory_(memory), demand_(demand) {}

  // `residents`: by the position of the replica; null for one that never sleeps. Nullopt: nothing can wake now.
  std::optional<WakePlan> Plan(const Need& need, const std::vector<Resident*>& residents, Instant now) const;

 private:
  struct Leaver {
    bool busy = false;
    double value = 0;
    size_t replica = 0;
    auto Key() const { return std::tie(busy, value, replica); }
  };

  std::optional<WakePlan> PlanOf(size_t target, const Need& need, const std::vector<Resident*>& residents,
                                 Instant now) const;
  // Adds leavers of the GPU until the target fits; false: it cannot.
  bool MakeRoomOn(uint32_t gpu, const Need& need, const std::vector<Resident*>& residents, Instant now,
                  WakePlan& plan) const;
  std::optional<Leaver> LeaverOf(size_t replica, const Need& need, const WakePlan& plan,
                                 const std::vector<Resident*>& residents, Instant now) const;

  const FleetState& fleet_;
  const Servers& servers_;
  const GpuMemory& memory_;
  const UnmetDemand& demand_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_
