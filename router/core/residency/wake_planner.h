// Chooses the replica that wakes for waiting requests, and those that give it their memory.
//
// The planner chooses the sleeping server of the model that needs the fewest running replicas to leave. A request
// that only one of them can take wakes that one; idle others of its model may leave for it. A plan in time goes before
// one that is late. Then the least value decides, then the number of busy neighbours. On each GPU the idle replicas
// leave first, the least valuable before the others, or the quickest where time is short. A busy one leaves only where
// the waiting requests are worth clearly more than what would be late meanwhile. Invariant: nobody leaves within its
// least stay, or without a place for its weights (host_memory.h). Owned by Residents. O(sleeping servers x replicas of
// their GPUs).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_

#include <optional>
#include <tuple>
#include <vector>

#include "router/core/residency/gpu_memory.h"
#include "router/core/residency/host_memory.h"
#include "router/core/residency/resident.h"
#include "router/core/residency/unmet_demand.h"

namespace penstock {

struct WakePlan {
  size_t replica = 0;
  std::vector<size_t> leavers;  // Their positions.
  int drains = 0;               // Leavers that run something and did not leave before.
  int busy = 0;                 // Leavers that run something.
  bool late = false;            // The wake ends after the need is due, even if all leavers are idle.
  double value = 0;             // Tokens that they would serve meanwhile.
  double loss = 0;              // Those of them that would be late.
  int neighbours = 0;           // Busy ones that stay.

  auto Cost() const { return std::tie(drains, busy, late, value, neighbours, replica); }
};

class WakePlanner {
 public:
  // There must be so many times the tokens that would be late while a busy replica is away.
  static constexpr double kHysteresis = 2;

  WakePlanner(const FleetState& fleet, const Servers& servers, const GpuMemory& memory, const HostMemory& hosts,
              const UnmetDemand& demand)
      : fleet_(fleet), servers_(servers), memory_(memory), hosts_(hosts), demand_(demand) {}

  // `residents`: by the position of the replica; null for one that never sleeps. Nullopt: nothing can wake now.
  std::optional<WakePlan> Plan(const Need& need, const std::vector<Resident*>& residents, Instant now) const;

 private:
  struct Question {
    const Need& need;
    const std::vector<Resident*>& residents;
    Instant now;
    bool quickest = false;  // The order of the leavers: by the time to fall asleep, else by value.
  };
  struct Leaver {
    bool drains = false;
    bool busy = false;
    double seconds = 0;  // The time to fall asleep where that decides, else 0.
    double value = 0;
    double loss = 0;
    size_t replica = 0;
    auto Key() const { return std::tie(drains, busy, seconds, value, replica); }
  };

  std::optional<WakePlan> PlanOf(size_t target, const Question& question) const;
  // Adds leavers of the GPU until the target fits; false: it cannot.
  bool MakeRoomOn(uint32_t gpu, const Question& question, WakePlan& plan) const;
  std::optional<Leaver> LeaverOf(size_t replica, const Question& question, const WakePlan& plan) const;
  // The leavers of the GPU that are needed until the target fits, in order of preference; nullopt: it cannot.
  std::optional<std::vector<Leaver>> Choose(uint32_t gpu, const Question& question, const WakePlan& plan,
                                            Bytes& missing) const;

  const FleetState& fleet_;
  const Servers& servers_;
  const GpuMemory& memory_;
  const HostMemory& hosts_;
  const UnmetDemand& demand_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_WAKE_PLANNER_H_
