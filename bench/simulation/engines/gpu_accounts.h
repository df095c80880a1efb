// The accounts of the GPUs' time in a simulated window: every GPU-second has exactly one state.
//
//   productive   a step is in flight at full speed
//   slow         steps are in flight, all of them on slowed replicas
//   blocked      idle although requests for a model it serves wait
//   elsewhere    idle, and only requests for other models wait
//   idle         idle, and no request waits
//   asleep, down all its replicas are
// One owner. A change costs O(replicas of the GPU), a change of the demand O(GPUs).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_GPU_ACCOUNTS_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_GPU_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/fleet.h"

namespace penstock::bench {

enum class GpuState : uint8_t { kProductive, kSlow, kBlocked, kElsewhere, kIdle, kAsleep, kDown };
inline constexpr size_t kGpuStates = 7;
const char* GpuStateName(GpuState state);

class GpuAccounts {
 public:
  // `replica_gpus[i]`: the GPUs of the fleet's i-th replica. Time after `window` is not counted.
  GpuAccounts(const Fleet& fleet, const std::vector<std::vector<int>>& replica_gpus, size_t gpus, Duration window);

  void SetStepping(size_t replica, bool stepping, bool slow, Instant now);
  void SetAsleep(size_t replica, bool asleep, Instant now);
  void SetDown(size_t replica, bool down, Instant now);
  // `change` more requests wait in the router for a model.
  void ChangeWaiting(ModelId model, int change, Instant now);
  // Counts the time up to `now`. Called once more at the end.
  void SettleAll(Instant now);

  // The GPU's seconds by GpuState.
  const std::array<double, kGpuStates>& seconds(size_t gpu) const { return gpus_[gpu].seconds; }
  size_t gpus() const { return gpus_.size(); }

 private:
  struct Replica {
    std::vector<int> gpus;
    std::vector<ModelId> models;
    bool stepping = false;
    bool slow = false;
    bool asleep = false;
    bool down = false;
  };
  struct Gpu {
    std::vector<size_t> replicas;
    std::array<double, kGpuStates> seconds{};
    Instant since;
    GpuState state = GpuState::kIdle;
  };

  void Settle(Gpu& gpu, Instant now);
  void SettleOf(size_t replica, Instant now);
  GpuState StateOf(const Gpu& gpu) const;

  Instant end_;
  std::vector<Replica> replicas_;
  std::vector<Gpu> gpus_;
  std::vector<int64_t> waiting_;  // Waiting requests by model.
  int64_t all_waiting_ = 0;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_GPU_ACCOUNTS_H_
