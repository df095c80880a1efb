// The events of simulated engines about their prefix caches, as the router reads them (router/kv_events).
//
// The changes of each step are sent at its end, in the router's names. A block of the router is there as long as the
// engine block with which it ends is. A request's blocks are named as it reaches its engine. So every event is bound,
// as with vLLM's session tags. Invariant: each report that is sent is taken once. One owner; Send costs O(changes).
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_CACHE_REPORTS_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_CACHE_REPORTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/cache_change.h"
#include "base/units.h"
#include "bench/simulation/engines/event_queue.h"
#include "router/core/contract/event.h"

namespace penstock::bench {

class CacheReports {
 public:
  // `events` outlives this object. A report takes `delay` to the router.
  CacheReports(Duration delay, EventQueue& events) : delay_(delay), events_(events) {}

  // The prompt with these hashes goes to an engine, which calls its blocks `blocks`: equally many for each hash.
  void Name(const std::vector<uint64_t>& prefix, const std::vector<uint64_t>& blocks);
  // Sends the changes of an engine; kCacheReport follows. Changes of blocks without a name are dropped.
  void Send(size_t replica, const simulated::CacheJournal& changes);
  // The report of a kCacheReport event.
  CacheReport Take(uint64_t position);

 private:
  Duration delay_;
  EventQueue& events_;
  absl::flat_hash_map<uint64_t, PromptBlock> names_;  // Each by the engine block with which it ends.
  std::vector<CacheReport> reports_;                  // Sent and not taken, by position.
  std::vector<size_t> free_positions_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_CACHE_REPORTS_H_
