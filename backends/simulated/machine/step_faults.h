// The faults of a simulated engine: steps that are slow for a time, that stand still in bursts, and whose times vary.
//
// Equal seeds give equal times. One owner; O(1).
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_FAULTS_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_FAULTS_H_

#include <cmath>
#include <cstdint>

#include "base/generator.h"
#include "base/units.h"

namespace penstock::simulated {

// Times count from the start of the engine. Slowness and stalls hold in [from, to).
struct StepFaultSpec {
  double slowdown = 1;  // Factor on the time of a step.
  Duration from;
  Duration to = Duration::Infinite();
  Duration stall;  // The engine stands still for so long at the begin of each `stall_every`; zero: never.
  Duration stall_every;
  double noise = 0;  // Relative standard deviation of the time of a step.

  bool HoldsAt(Duration at) const { return at >= from && at < to; }
  bool SlowAt(Duration at) const { return slowdown > 1 && HoldsAt(at); }
};

class StepFaults {
 public:
  // With noise, one step of so many takes kPause times as long.
  static constexpr double kPauseEvery = 1000;
  static constexpr double kPause = 10;

  StepFaults() = default;
  StepFaults(const StepFaultSpec& spec, uint64_t seed) : spec_(spec), generator_(seed) {}

  // The factor on the time of a step that begins then. Draws the noise.
  double FactorAt(Duration at) {
    double factor = spec_.HoldsAt(at) ? spec_.slowdown : 1;
    if (spec_.noise <= 0) return factor;
    factor *= generator_.LogNormal(-spec_.noise * spec_.noise / 2, spec_.noise);
    return generator_.Uniform() * kPauseEvery < 1 ? factor * kPause : factor;
  }
  // The time that such a step waits before.
  Duration StandstillAt(Duration at) const {
    if (spec_.stall <= Duration() || !spec_.HoldsAt(at)) return Duration();
    const double within = std::fmod((at - spec_.from).seconds(), spec_.stall_every.seconds());
    return within < spec_.stall.seconds() ? spec_.stall - Duration::Seconds(within) : Duration();
  }

 private:
  StepFaultSpec spec_;
  bench::Generator generator_{1};
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_FAULTS_H_
