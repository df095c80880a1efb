// The memory of hosts that sleeping replicas may keep their weights in, and the level at which each would sleep.
//
// An engine takes the memory at its first sleep at the level of the host, and holds it from then on. Engines pin such
// memory and reuse it, so they hold it while they are awake too. A replica that holds it sleeps there again at no cost.
// One that does not fit beside the others drops its weights, where it can. Invariant: no level that LevelOf gives makes
// the memory that replicas hold or leave for exceed the bound of a host. Owned by Residents; reads the fleet. A
// question is O(replicas of the host).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_HOST_MEMORY_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_HOST_MEMORY_H_

#include <optional>
#include <vector>

#include "router/core/books/fleet_state.h"

namespace penstock {

class HostMemory {
 public:
  explicit HostMemory(const FleetState& fleet) : fleet_(fleet) {}

  // The fleet has a new description.
  void Configure();

  // The level of a sleep that would begin now, where all of `beside` take memory of their hosts.
  // kUnsaid: no bound concerns it. Nullopt: it lacks memory, and cannot drop its weights.
  std::optional<SleepLevel> LevelOf(size_t replica, const std::vector<size_t>& beside = {}) const;
  size_t size() const { return hosts_.size(); }
  // Memory that replicas hold or leave for, by the position of the host in the fleet.
  Bytes UsedOn(size_t host) const { return Used(hosts_[host], {}); }
  // Replicas of the host that stay awake for want of memory.
  int LackingOn(size_t host) const;

 private:
  // Weights on one host.
  struct Part {
    size_t replica = 0;
    Bytes weights{0};
  };
  using Parts = std::vector<Part>;

  // The replica holds the memory, or leaves for it.
  bool Takes(size_t replica) const;
  // Memory that replicas of the host take, with all of `more`.
  Bytes Used(const Parts& parts, const std::vector<size_t>& more) const;

  const FleetState& fleet_;
  std::vector<Parts> hosts_;             // One entry per host of the fleet.
  std::vector<std::vector<size_t>> on_;  // By replica: its hosts, where it may use their memory.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_HOST_MEMORY_H_
