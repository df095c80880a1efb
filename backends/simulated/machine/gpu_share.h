// The slowdown that replicas on the same GPUs cause each other.
//
// Each step is an amount of work: its time on an idle GPU. A step in flight proceeds at the rate 1 / slowdown. The
// slowdown changes whenever the step of a neighbour begins or ends (processor sharing).
//
//   time_slicing  slowdown = replicas with a step in flight on this GPU: kernels never overlap.
//   mps           slowdown = max(cap, sum of bandwidth demands of the steps in flight): every replica is capped to an
//                 equal share of the SMs. The caps are measured (A100-80, 7B, MuxServe profile), and mix decode and
//                 prefill by their part of the step. Below 30 % they continue as share^-0.35 and share^-0.75. The
//                 demand of a step is the part of its time that moves weights and KV (a + c*K).
// A replica on several GPUs runs at the pace of the slowest one. docs/step-time.md has the sources.
//
// Usage: call Begin() and End() with times that never decrease. They return the changed ends of steps; a later call may
// change an end again. Works in virtual and in real time. One owner, not thread-safe. A call costs O(replicas that
// share a GPU with this one).
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_GPU_SHARE_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_GPU_SHARE_H_

#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "base/units.h"
#include "kvmodel/step_coefficients.h"

namespace penstock::simulated {

enum class Sharing { kTimeSlicing, kMps };

// The work of one step.
struct StepWork {
  Duration alone;            // The time on idle GPUs, slowdown of the replica and time scale included.
  double memory_share = 1;   // The part of `alone` that moves weights and KV, in [0, 1].
  double prefill_share = 0;  // The part of `alone` that computes prefill, in [0, 1].
};

// The work of `load`. `factor` multiplies the time.
StepWork WorkOf(const StepCoefficients& coefficients, const StepLoad& load, double factor);

// The slowdown of a step that may use `sm_share` of a GPU, in (0, 1], without neighbours.
double MpsCap(double sm_share, double prefill_share);

class GpuShare {
 public:
  struct StepEnd {
    int replica = 0;
    Instant at;
    bool operator==(const StepEnd&) const = default;
  };

  // Both return the new index. Call them before the first Begin().
  int AddGpu(Sharing sharing);
  int AddReplica(const std::vector<int>& gpus);

  // A step of the replica begins. Precondition: the replica has no step in flight. Appends the end of this step and
  // each changed end to `moved`.
  void Begin(int replica, const StepWork& work, Instant now, std::vector<StepEnd>& moved);
  // The step of the replica is over, at its end or earlier. Appends each changed end to `moved`.
  void End(int replica, Instant now, std::vector<StepEnd>& moved);

  // The current end of the step in flight. Never() without a step.
  Instant EndOf(int replica) const { return replicas_[replica].end; }
  // The number of steps in flight on a GPU.
  int Busy(int gpu) const { return gpus_[gpu].busy; }

 private:
  struct Gpu {
    Sharing sharing = Sharing::kTimeSlicing;
    std::vector<int> replicas;
    int busy = 0;
    double demand = 0;  // The bandwidth demand of the steps in flight.
  };
  struct Replica {
    std::vector<int> gpus;
    std::vector<int> neighbours;  // Without the replica itself.
    bool busy = false;
    StepWork work;
    double left_ns = 0;  // The rest of `work.alone` at `settled`.
    double slowdown = 1;
    Instant settled;  // The time of the last update of left_ns.
    Instant end = Instant::Never();
  };

  void Occupy(const Replica& replica, int sign);
  double Slowdown(const Replica& replica) const;
  void Settle(int index, Instant now, std::vector<StepEnd>& moved);

  std::vector<Gpu> gpus_;
  std::vector<Replica> replicas_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_GPU_SHARE_H_
