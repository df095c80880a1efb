// The link between the router and its engines: delays each way, late engine reports, and errors of the router's
// knowledge (prompt lengths, step times).
//
// Invariant: each outcome that is sent is taken once. One owner; a call costs O(1) but for BelievedFleet.
#ifndef PENSTOCK_BENCH_SIMULATION_ROUTER_LINK_H_
#define PENSTOCK_BENCH_SIMULATION_ROUTER_LINK_H_

#include <cstdint>
#include <vector>

#include "backends/simulated/machine/step_machine.h"
#include "base/generator.h"
#include "bench/simulation/engines/cache_reports.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/one_pool.h"
#include "bench/simulation/simulation_options.h"
#include "router/core/contract/event.h"
#include "router/core/contract/fleet.h"

namespace penstock::bench {

class RouterLink {
 public:
  // The outcome of one engine's step.
  struct Outcome {
    size_t replica = 0;
    simulated::StepOutcome step;
  };

  // `options` and `events` outlive this object. `ranks`: the replicas of each engine with data-parallel ranks.
  RouterLink(const SimulationOptions& options, size_t replicas, EventQueue& events,
             const std::vector<std::vector<size_t>>& ranks = {})
      : options_(options),
        events_(events),
        generator_(options.seed),
        caches_(options.link_delay, events),
        one_pool_(options.one_pool ? ranks : std::vector<std::vector<size_t>>(), replicas),
        reports_(replicas),
        sent_(replicas) {}

  // `fleet` with a random error of each replica's step time, as the router believes it. Draws once per replica.
  Fleet BelievedFleet(const Fleet& fleet);
  // The router's estimate of a prompt's tokens, not rounded. Each prompt has a normal error of prompt_error around the
  // truth. All prompts of a tenant have its bias besides.
  double EstimateOf(Tokens prompt, TenantId tenant) {
    return prompt.AsDouble() * (1 + BiasOf(tenant) + options_.prompt_error * generator_.Normal());
  }

  // Sends a request to its engine, whose API server keeps it for `host_time`; `tries` is the number of this forward.
  void SendRequest(uint64_t request, uint64_t tries, Duration host_time) {
    events_.Schedule(events_.now() + options_.link_delay + host_time, Occurrence::kSubmit, request, tries);
  }
  // Sends an abort; the request is back in the router one delay later.
  void SendAbort(uint64_t request) {
    events_.Schedule(events_.now() + options_.link_delay, Occurrence::kRequeue, request);
  }
  // Sends a step's outcome to the router; an empty one is dropped.
  void SendOutcome(size_t replica, simulated::StepOutcome step);
  // The outcome of a kDeliver event.
  Outcome TakeOutcome(uint64_t position);

  // The news of the engines about their prefix caches.
  CacheReports& caches() { return caches_; }

  // Schedules the first reading of a replica's gauges, at a random phase of the report period.
  void StartReports(size_t replica);
  // Schedules the reading after the present one.
  void ScheduleReading(size_t replica, Duration pause) {
    events_.Schedule(events_.now() + pause, Occurrence::kMeasure, replica);
  }
  // Sends a replica's gauges to the router; those of a rank that is no pool with the gauges of the others.
  void SendReport(size_t replica, const simulated::EngineGauges& gauges);
  // The newest report that was sent.
  const EngineReport& report(size_t replica) const { return sent_[replica]; }
  // The ranks of engines where the router takes them for one pool; else none.
  const OnePool& one_pool() const { return one_pool_; }

 private:
  double BiasOf(TenantId tenant) const;

  const SimulationOptions& options_;
  EventQueue& events_;
  Generator generator_;
  CacheReports caches_;
  OnePool one_pool_;
  std::vector<EngineReport> reports_;  // The newest of each engine or rank.
  std::vector<EngineReport> sent_;     // The same as the router gets them.
  std::vector<Outcome> outcomes_;      // Sent and not taken, by position.
  std::vector<size_t> free_positions_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ROUTER_LINK_H_
