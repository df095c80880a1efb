// Engines with data-parallel ranks, as a router sees them that knows nothing of ranks: one replica with one pool.
//
// The replica has the name and the place of the first rank. It has the memory, the rows and the step budget of all of
// them, and steps that share their work equally. Only the place of a request is unknown: the engine chooses it as vLLM
// does. That is the rank with the least of 4 x waiting + running requests. A report is that of all ranks together.
// Invariant: without engines, each call changes nothing. One owner; a call costs O(ranks) but for ApplyTo.
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_ONE_POOL_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_ONE_POOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "base/ids.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"

namespace penstock::bench {

class OnePool {
 public:
  // `engines`: the ranks of each, in order.
  OnePool(std::vector<std::vector<size_t>> engines, size_t replicas);

  // The ranks behind the first one are removed.
  void ApplyTo(Fleet& fleet) const;
  // The router knows the replica: it is no rank, or the first one.
  bool Shows(size_t replica) const { return engine_of_[replica] == kNone || RanksOf(replica).front() == replica; }
  // The replica that gets a request for `replica`. `engines` has the gauges of each.
  template <class Engines>
  ReplicaId Choose(ReplicaId replica, const Engines& engines) const {
    if (engine_of_[replica.value()] == kNone) return replica;
    const auto load = [&](size_t rank) {
      const simulated::EngineGauges gauges = engines.Gauges(rank);
      return 4 * gauges.waiting + gauges.running;
    };
    const std::vector<size_t>& ranks = RanksOf(replica.value());
    const auto less = [&](size_t a, size_t b) { return load(a) < load(b); };
    return ReplicaId(static_cast<uint32_t>(*std::min_element(ranks.begin(), ranks.end(), less)));
  }
  // The report of the whole engine, with that of its last rank; nullopt with others. `newest`: that of each replica.
  std::optional<EngineReport> ReportOf(size_t replica, const std::vector<EngineReport>& newest) const;
  // True: the replicas are the ranks of an engine.
  bool IsOne(const std::vector<size_t>& group) const { return engine_of_[group.front()] != kNone; }
  // The replicas of each Progress event. `groups`: those that share a pool.
  std::vector<std::vector<size_t>> Joined(std::vector<std::vector<size_t>> groups) const;

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  const std::vector<size_t>& RanksOf(size_t replica) const { return engines_[engine_of_[replica]]; }

  std::vector<std::vector<size_t>> engines_;
  std::vector<size_t> engine_of_;  // Its engine, by replica; kNone: it is no rank.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_ONE_POOL_H_
