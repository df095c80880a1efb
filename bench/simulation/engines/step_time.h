// The GPU time of steps by what it is spent on: the terms of the step model; the totals of engines. Values.
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_STEP_TIME_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_STEP_TIME_H_

#include <cstdint>
#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "kvmodel/step_coefficients.h"

namespace penstock::bench {

// Seconds. A step's time alone on its GPUs; neighbours that share a GPU divide it by these times.
struct StepTime {
  double floor = 0;      // Reading the weights: each step pays it, whatever its batch.
  double decode = 0;     // Per sequence of the batch.
  double kv_reads = 0;   // Reading the KV that the batch attends to.
  double prefill = 0;    // Prompts, for the first time.
  double recompute = 0;  // Prompts and outputs that were computed before: preempted or requeued requests.
  double stall = 0;      // A fault: the engine stood still.

  double total() const { return floor + decode + kv_reads + prefill + recompute + stall; }
  StepTime& operator+=(const StepTime& other) { return Add(other, 1); }
  StepTime& Add(const StepTime& other, double times) {
    floor += other.floor * times;
    decode += other.decode * times;
    kv_reads += other.kv_reads * times;
    prefill += other.prefill * times;
    recompute += other.recompute * times;
    stall += other.stall * times;
    return *this;
  }
};

// The time of one step, times `factor`.
inline StepTime StepTimeOf(const StepCoefficients& step, const simulated::StepLoad& load, double factor) {
  const double unit = factor * 1e-3;
  const double prefill = step.PrefillMs(load.prefill);
  const double tokens = load.prefill.tokens.AsDouble();
  const double again = tokens > 0 ? load.recomputed.AsDouble() / tokens : 0;
  StepTime time;
  time.floor = unit * step.a;
  time.decode = unit * step.b * load.sequences;
  time.kv_reads = unit * step.c * load.kv.AsDouble() * 1e-3;
  time.prefill = unit * prefill * (1 - again);
  time.recompute = unit * prefill * again;
  return time;
}

// The sums of all engines of a fleet so far, those of dead machines included.
struct EngineTotals {
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;     // Prompt and output tokens that were computed again.
  std::vector<StepTime> step_times;  // By GPU, of all steps that ended.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_STEP_TIME_H_
