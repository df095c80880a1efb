// Filter, then score: whether a request may join a replica now, and how full its pool would become.
//
// The rules, in the order they are tested (all latencies in seconds, f the learned factor):
//   sequences   the engine's batch has a free row for each sequence
//   runway      at most two step budgets of prefill are on their way already
//   first token waited + rem + D(left + prompt) <= 0.97 TTFT, D(P) = ceil(P / (budget - B)) step + f d P
//   streams     no decoding or prefilling stream that is still on time would miss its next token: a test of slack,
//               never of one step's length; and the steady state keeps TPOT
//   memory      the forecast bound of every pool stays within 99 % of what is available
// A prompt counts in time by what is left of it after expected prefix cache hits, in memory whole. A guard may delay;
// only a deadline refuses. A lone request may enter an empty pool whatever its forecast. Goals of classes that are not
// refused for lateness take no part. Pure functions; a decision costs O(horizons + prefilling requests).
#ifndef PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_
#define PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_

#include <optional>
#include <span>
#include <vector>

#include "kvmodel/memory_ledger.h"
#include "router/core/books/pool_state.h"
#include "router/core/books/replica_state.h"
#include "router/core/contract/penstock_options.h"

namespace penstock {

struct PlacementContext {
  const std::vector<PoolState>& pools;
  const std::vector<ClassSpec>& classes;
  const MemoryLedger& ledger;
  const PenstockOptions& options;
  double dispatch_delay = 0;  // Seconds.
  Instant now;
};

// Whether the first token of this request could come within its goal on an idle replica.
bool TtftFeasible(const RequestState& request, const ReplicaState& replica, const ClassSpec& goals);

// The guards on time and batch rows, without memory.
struct GuardVerdict {
  std::optional<WaitReason> blocked;  // Empty: it may join as far as time goes.
  double expected_ttft = 0;           // Seconds from now.
};
// `prefill` is what the replica would have to compute of the prompt.
GuardVerdict TestGuards(const RequestState& request, Tokens prefill, const ReplicaState& replica, int busy_neighbours,
                        const PlacementContext& context);

// Whether the memory test is lost at the pool's worst horizon already; false decides nothing. A few dozen operations.
bool CannotFit(const GrowthMember& member, PoolId pool, const PlacementContext& context);
// The memory test. `growth[i]` is the request's contribution to the i-th pool of the replica.
struct MemoryVerdict {
  bool fits = true;
  double peak_share = 0;  // Forecast bound of the fullest pool, with the request, over capacity.
};
MemoryVerdict TestMemory(const ReplicaState& replica, std::span<const GrowthVector> growth,
                         const PlacementContext& context);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_PLACEMENT_PLACEMENT_H_
