// An upper bound of the active tokens of any policy, in hindsight: with all arrivals and lengths known.
//
// The window is cut into short slots. Each slot supplies GPU time and KV memory, and each has a price for both. A token
// can be computed in any slot from its request's arrival to its own due time. So it costs its work at the least prices
// of those slots. A prompt must be computed before the first token that counts. A request gives what its tokens are
// worth beyond their cost, or nothing. By weak duality, the sum over all requests and the worth of the whole supply is
// an upper bound at any prices. The search moves the prices of busy intervals while that lowers it.
//
// The bound leaves out the order of tokens, whole steps, whole requests, transfers, and the memory between two tokens
// of a request. All of that makes the bound larger, never smaller. Blocks of prompts that were seen before cost
// nothing. Where replicas share a GPU by MPS, it supplies what they reach together. The noise of steps counts by its
// mean.
#ifndef PENSTOCK_BENCH_SIMULATION_HINDSIGHT_BOUND_H_
#define PENSTOCK_BENCH_SIMULATION_HINDSIGHT_BOUND_H_

#include <vector>

#include "bench/simulation/engines/simulated_fleet.h"

namespace penstock::bench {

struct HindsightOptions {
  int slots = 60;  // The window has so many; as many again follow for requests that outlast it.
};

// Active tokens per second of requests that arrive in [0, window). Costs O(requests x slots of a request's life) for
// each of some hundred moves.
double HindsightBound(const SimulatedFleetSpec& spec, const std::vector<SimulatedArrival>& arrivals, Duration window,
                      const HindsightOptions& options = {});

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_HINDSIGHT_BOUND_H_
