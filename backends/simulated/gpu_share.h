// How replicas on the same GPUs slow each other's steps.
//
// Each step is an amount of work: the time that it takes alone. While it is in flight its work is done at the rate
// 1 / slowdown, and the slowdown is settled anew whenever a neighbour's step begins or ends (processor sharing), so no
// decision at the start of a step has to be corrected later.
//   time_slicing  slowdown = replicas with a step in flight on that GPU: kernels never overlap.
//   mps           slowdown = max(cap, sum of bandwidth demands of the steps in flight): every replica is capped to an
//                 equal share of the SMs. The caps are the measured ones of the cost model (A100-80, 7B, MuxServe
//                 profile), decode and prefill mixed by their part of the step; below 30 % they go on as
//                 share^-0.35 and share^-0.75. A step's demand is the part of its time alone in which it moves
//                 weights and KV (a + c*K).
// A replica on several GPUs goes at the pace of its slowest one. docs/step-time.md has the sources.
//
// Usage: Begin() and End() with times that never go back tell which steps end when; a later call may move an end, the
// latest one holds. Works in virtual and in real time. One owner, not thread-safe. A call costs O(replicas that share
// a GPU with this one).
#ifndef PENSTOCK_BACKENDS_SIMULATED_GPU_SHARE_H_
#define PENSTOCK_BACKENDS_SIMULATED_GPU_SHARE_H_

#include <vector>

#include "backends/simulated/step_machine.h"
#include "base/units.h"
#include "kvmodel/step_coefficients.h"

namespace penstock::simulated {

enum class Sharing { kTimeSlicing, kMps };

// One step as its GPUs see it.
struct StepWork {
  Duration alone;            // On GPUs of its own, slowdown of the replica and time scale included.
  double memory_share = 1;   // Of `alone`, in [0, 1]: moving weights and KV.
  double prefill_share = 0;  // Of `alone`, in [0, 1].
};

// The work of `load`; `factor` multiplies its time.
StepWork WorkOf(const StepCoefficients& coefficients, const StepLoad& load, double factor);

// Slowdown of a step that is capped to `sm_share` (0 to 1] of a GPU, without neighbours.
double MpsCap(double sm_share, double prefill_share);

class GpuShare {
 public:
  struct StepEnd {
    int replica = 0;
    Instant at;
    bool operator==(const StepEnd&) const = default;
  };

  // Both return the index of what was added. Only before the first Begin().
  int AddGpu(Sharing sharing);
  int AddReplica(const std::vector<int>& gpus);

  // The replica's step starts. Precondition: it has none in flight. `moved` receives this step's end and each end that
  // changed by it.
  void Begin(int replica, const StepWork& work, Instant now, std::vector<StepEnd>& moved);
  // The replica's step is over, at its end or before. `moved` receives each end that changed by it.
  void End(int replica, Instant now, std::vector<StepEnd>& moved);

  // End of the step in flight, as of now; Never() without one.
  Instant EndOf(int replica) const { return replicas_[replica].end; }
  // Steps in flight on a GPU.
  int Busy(int gpu) const { return gpus_[gpu].busy; }

 private:
  struct Gpu {
    Sharing sharing = Sharing::kTimeSlicing;
    std::vector<int> replicas;
    int busy = 0;
    double demand = 0;  // Of bandwidth, by the steps in flight.
  };
  struct Replica {
    std::vector<int> gpus;
    std::vector<int> neighbours;  // Itself not included.
    bool busy = false;
    StepWork work;
    double left_ns = 0;  // Of `work.alone`.
    double slowdown = 1;
    Instant settled;  // When left_ns was last brought up to date.
    Instant end = Instant::Never();
  };

  void Occupy(const Replica& replica, int sign);
  double Slowdown(const Replica& replica) const;
  void Settle(int index, Instant now, std::vector<StepEnd>& moved);

  std::vector<Gpu> gpus_;
  std::vector<Replica> replicas_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_GPU_SHARE_H_
