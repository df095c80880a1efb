// Discrete-event simulation of a fleet in virtual time, with the decision core and the engine step machine of live use.
//
// The clock is event_queue. Steps, faults and sleep are in simulated_engines; delays, reports and the errors of the
// router's knowledge in router_link. The place of each request is in live_requests, records and GPU time in
// simulation_accounts. This class takes one event after the other through these rooms and asks the core.
// It simulates the difficulties of real fleets. Prompt lengths are estimated, output lengths unknown. Engine reports
// come every 250 ms and late, and links delay messages. Neighbours slow each other; memory is elastic; engines cache
// prefixes. Replicas turn slow, die and come back; engines sleep; clients vanish. Events are ordered by (time,
// sequence), so equal seeds give equal runs. One run per object; one owner.
#ifndef PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
#define PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/simulation/engines/adapter_loads.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/handovers.h"
#include "bench/simulation/engines/node_storages.h"
#include "bench/simulation/engines/simulated_engines.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "bench/simulation/live_requests.h"
#include "bench/simulation/router_link.h"
#include "bench/simulation/simulation_accounts.h"
#include "bench/simulation/simulation_options.h"
#include "router/core/contract/admission_core.h"

namespace penstock::bench {

class FleetSimulation {
 public:
  // Sees every event before the core and every action after it.
  using Observer = std::function<void(const Event&, Instant, const std::vector<Action>&)>;

  // `core` outlives this object.
  FleetSimulation(SimulatedFleetSpec spec, AdmissionCore& core, SimulationOptions options);

  void Observe(Observer observer) { observer_ = std::move(observer); }
  // Runs until all arrivals have ended. `arrivals` are in order of time. Called once.
  SimulationOutcome Run(const std::vector<SimulatedArrival>& arrivals);

  // In place of Run, for arrivals that nobody knows beforehand: AdvanceTo, then Offer and Schedule and AdvanceTo in
  // turn, without an end. The first call starts the fleet. Takes what happens up to `at`, which never goes back.
  void AdvanceTo(Instant at);
  // A request that arrives at or after the time of the last AdvanceTo. Its number is that of its events.
  uint64_t Offer(const SimulatedArrival& arrival);
  // The replica dies (kDies), is back (kRises) or takes nothing new (kDrains) at such a time.
  void Schedule(Instant at, Occurrence kind, size_t replica) { events_.Schedule(at, kind, replica); }

 private:
  void Start(const std::vector<SimulatedArrival>& arrivals);
  void Handle(const Scheduled& event);
  // Gives the core an event, takes its actions and schedules its next deadline.
  void Tell(const Event& event);
  void Act(const Action& action);
  void Place(const Forward& forward);
  void Turn(const Refuse& refuse);

  void Arrive(uint64_t request);
  void Submit(uint64_t request, uint64_t tries);
  void EndStep(size_t replica, uint64_t serial);
  void Deliver(uint64_t position);
  void Close(const simulated::SequenceEnded& ended, const LiveRequest& live);
  void Vanish(uint64_t request);
  void Requeue(uint64_t request);
  void End(uint64_t request, Fate fate, const std::string& reason);

  void Measure(size_t replica);
  void Sample();
  void FireTimer(Instant at);
  void Die(size_t replica);
  void Rise(size_t replica);

  // Reads from storage that requests wait for.
  struct Reads {
    AdapterLoads adapters;
    NodeStorages storages;
  };

  SimulatedFleetSpec spec_;
  AdmissionCore& core_;
  SimulationOptions options_;
  Observer observer_;
  EventQueue events_;
  SimulationAccounts accounts_;
  SimulatedEngines engines_;
  Reads reads_;
  Handovers handovers_;
  RouterLink link_;
  std::optional<LiveRequests> requests_;     // Set by Run or the first AdvanceTo.
  bool endless_ = false;                     // Requests may come at any time.
  std::vector<std::vector<size_t>> groups_;  // Replicas that share a pool and a Progress event.
  Instant forecasts_sampled_;
  std::optional<Instant> timer_at_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
