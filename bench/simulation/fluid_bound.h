// Upper bounds that no router can exceed: GPU time and KV memory as fluids that every request draws from.
//
// A request costs at least d*prompt + e*pairs + output x (a/rows + b + c*mean KV) of GPU time; `rows` sequences of mean
// size fit at most. It holds (prompt + output/2) tokens for at least output x (a + b) seconds. The bound takes the
// requests with the most output tokens per unit of either fluid until it is used up, the last one in part. It returns
// the smaller of the two sums. A fluid is supplied for the window; requests whose last token is due after it may draw
// their whole cost afterwards. Prefix caches would save prefill: with prefixes the GPU fluid counts only what stands
// behind blocks that were seen before.
#ifndef PENSTOCK_BENCH_SIMULATION_FLUID_BOUND_H_
#define PENSTOCK_BENCH_SIMULATION_FLUID_BOUND_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "kvmodel/prefill_work.h"

namespace penstock::bench {

// Mean lengths of a model's requests.
struct MeanLengths {
  double prompt = 0;
  double output = 0;
  double requests = 0;
};
// One per model of the fleet.
std::vector<MeanLengths> MeanLengthsOf(const Fleet& fleet, const std::vector<SimulatedArrival>& arrivals);

// Output tokens per second of a replica that only decodes, with a batch as full as memory and rows allow.
double RooflineTokensPerSecond(const SimulatedReplica& replica, Tokens pool, const MeanLengths& lengths);
// Sum over the GPUs. Replicas that share one divide it by the tokens their models are asked for.
double FleetRoofline(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals);
// One per GPU.
std::vector<double> GpuRooflines(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals);

// The most seconds of work that a GPU does in a second: 1, or under MPS the rate of all its replicas together.
double WorkPerSecond(const SimulatedFleetSpec& spec, size_t gpu);

// The prefill that even an endless cache would have to compute: behind the blocks that were `seen` before. Adds its
// own.
PrefillWork NewPrefill(const SimulatedArrival& arrival, absl::flat_hash_set<uint64_t>& seen);

// An idle fleet could make its first token within its TTFT goal, and its client stays for the longest answer on time.
bool IsFeasible(const SimulatedFleetSpec& spec, const SimulatedArrival& arrival);

// Upper bound on the share of feasible requests that are on time. It looks at each interval by itself. The prompts and
// tokens that arrive and fall due in an interval must be computed in it. So the costliest requests are given up until
// the rest fits. It counts GPU time only, on the replica that is fastest for a request. Another replica supplies at
// best the time that it could save. It is no bound where prompts share prefixes, which are not counted. 1 when no
// request is feasible. Costs O(requests) for each of some hundred intervals.
double FluidOnTimeBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, Duration window);

// Upper bound on active tokens per second of requests arriving in [0, window).
double FluidBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, Duration window);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_FLUID_BOUND_H_
