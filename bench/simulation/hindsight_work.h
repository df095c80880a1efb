// The least costs of a request on one replica, for bounds in hindsight. Values; pure.
#ifndef PENSTOCK_BENCH_SIMULATION_HINDSIGHT_WORK_H_
#define PENSTOCK_BENCH_SIMULATION_HINDSIGHT_WORK_H_

#include <algorithm>

#include "bench/simulation/engines/simulated_fleet.h"
#include "bench/simulation/fluid_bound.h"
#include "kvmodel/prefill_work.h"

namespace penstock::bench {

// Seconds of the GPU of its replica, and of the whole pool there.
struct HindsightWork {
  double at = 0;
  double ttft = 0;
  double tpot = 0;
  double output = 0;
  double prefill = 0;
  double token = 0;        // Of a token but the first one, without what it attends to.
  double token_grows = 0;  // Added for each token before it.
  double held = 0;         // Pool seconds of a token.
  double held_grows = 0;

  double DueOf(double token_number) const { return at + ttft + token_number * tpot; }
  // The most of these costs that a second of another replica saves, whatever part of the request it computes.
  double WorthOf(const HindsightWork& other) const {
    double worth = 0;
    for (const auto part : {&HindsightWork::prefill, &HindsightWork::token, &HindsightWork::token_grows}) {
      if (other.*part > 0) worth = std::max(worth, this->*part / other.*part);
    }
    return worth;
  }
  double GpuSeconds() const { return prefill + output * (token + token_grows * output / 2); }
};

// `mean` is of the requests for its model; `prefill` is the part of the prompt that no cache has.
HindsightWork HindsightWorkOn(const SimulatedReplica& replica, const SimulatedArrival& arrival, const ClassSpec& goals,
                              const MeanLengths& mean, const PrefillWork& prefill);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_HINDSIGHT_WORK_H_
