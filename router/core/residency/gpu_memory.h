// The memory of each GPU, as the replicas that are awake, wake or fall asleep take it.
//
// A wake needs its memory on every GPU of the replica now. A plan counts what will be there: without the replicas that
// leave, with those that are wanted. Invariant: what FreeNow reports as free was free in the sum over the replicas of
// the GPU. Owned by Residents; reads the fleet. O(replicas of a GPU).
#ifndef PENSTOCK_ROUTER_CORE_RESIDENCY_GPU_MEMORY_H_
#define PENSTOCK_ROUTER_CORE_RESIDENCY_GPU_MEMORY_H_

#include <optional>
#include <vector>

#include "router/core/books/fleet_state.h"

namespace penstock {

class GpuMemory {
 public:
  explicit GpuMemory(const FleetState& fleet) : fleet_(fleet) {}

  // The fleet has a new description.
  void Configure();

  // The replicas of a GPU that take memory, by position.
  const std::vector<size_t>& ReplicasOn(uint32_t gpu) const { return replicas_[gpu]; }
  // Free memory now, and once all that is planned is done. Negative: it is taken twice. Nullopt: nobody knows how much
  // memory the GPU has.
  std::optional<Bytes> FreeNow(uint32_t gpu) const { return Free(gpu, &GpuMemory::TakesNow); }
  std::optional<Bytes> FreeLater(uint32_t gpu) const { return Free(gpu, &GpuMemory::TakesLater); }
  // True: each of its GPUs has the memory for the replica, which sleeps.
  bool FitsNow(const ReplicaSpec& replica) const;
  bool FitsLater(const ReplicaSpec& replica) const;
  // True: the replica, which sleeps, gets no memory. Those that hold theirs, or never sleep, leave too little of a GPU.
  // One that is down for longer than an outage is waited for holds its memory too.
  bool Blocks(const ReplicaSpec& replica, Instant now) const;

 private:
  using Takes = bool (*)(const Presence& presence);

  static bool TakesNow(const Presence& presence) { return presence.residency != Residency::kAsleep; }
  static bool TakesLater(const Presence& presence);
  std::optional<Bytes> Free(uint32_t gpu, Takes takes) const;

  const FleetState& fleet_;
  std::vector<std::vector<size_t>> replicas_;  // One list per GPU.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_RESIDENCY_GPU_MEMORY_H_
