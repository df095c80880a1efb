// The engines of a simulated fleet: their step machines, the GPUs that they share, their faults and their sleep.
//
// A replica steps while it has work, is up and is awake. Each step's end is an event with a serial number; a
// neighbour's step may move the end, and then only the newest serial counts. Invariant: a replica that is down or
// waking has no step in flight. Engines report sleep and outages to the GPU accounts. One owner; a call costs
// O(replicas that share a GPU or elastic memory with this one), plus the step machine's own cost.
#ifndef PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_ENGINES_H_
#define PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_ENGINES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/simulated/machine/gpu_share.h"
#include "backends/simulated/machine/step_faults.h"
#include "backends/simulated/machine/step_machine.h"
#include "bench/simulation/engines/event_queue.h"
#include "bench/simulation/engines/residency_orders.h"
#include "bench/simulation/engines/simulated_fleet.h"
#include "bench/simulation/engines/step_time.h"
#include "router/core/accounts/gpu_accounts.h"

namespace penstock::bench {

// The hashes of the blocks of `block` tokens that a prompt fills. The argument `prefix` has the hashes of its blocks
// of kPrefixBlock tokens. Empty where `block` is larger than kPrefixBlock.
std::vector<uint64_t> BlocksOf(const std::vector<uint64_t>& prefix, Tokens prompt, Tokens block);

class SimulatedEngines {
 public:
  // All three outlive this object.
  SimulatedEngines(const SimulatedFleetSpec& spec, EventQueue& events, GpuAccounts& gpus);

  size_t size() const { return engines_.size(); }
  bool IsDown(size_t replica) const { return engines_[replica].down; }
  // The gauges of a replica that is up.
  simulated::EngineGauges Gauges(size_t replica) const { return engines_[replica].machine->Gauges(); }
  EngineTotals Totals() const;

  // The limit and the use of a cache in elastic memory; nullopt: it has no limit of its own.
  std::optional<ElasticReport> ElasticOf(size_t replica) const;
  // The engine gets another limit. Its waiting sequences may begin.
  void SetLimit(size_t replica, Bytes limit);

  // Schedules the outages and the first sleep of each replica.
  void ScheduleFaults();

  // Queues a sequence and starts a step where none is in flight. False: the engine can never run it.
  bool Submit(size_t replica, const simulated::Sequence& sequence);
  // Removes a sequence; a dead engine has none.
  void Abort(size_t replica, simulated::SequenceId sequence);

  // The end of a step; nullopt when `serial` is outdated. ContinueAfterStep follows.
  std::optional<simulated::StepOutcome> EndStep(size_t replica, uint64_t serial);
  // The changes of the prefix cache of a replica with cache_events, since the last call.
  simulated::CacheJournal TakeCacheChanges(size_t replica) { return std::exchange(journals_[replica], {}); }
  // Starts the replica's next step and those of its neighbours in elastic memory, else schedules its sleep.
  void ContinueAfterStep(size_t replica);
  // Starts a step on each other replica of the same elastic memory, as far as it has work.
  void StartNeighboursInMemory(size_t replica);

  // The replica's machine is gone; `sequences` are those that ran or waited on it. A dead one may die again.
  void Die(size_t replica, std::span<const simulated::SequenceId> sequences);
  // The replica is back with an empty cache.
  void Rise(size_t replica);
  // The replica sleeps, unless it had work since `serial`.
  void Doze(size_t replica, uint64_t serial);
  void Wake(size_t replica);

  // An order of the router, for a replica with ReplicaSpec::sleep. kOrderEnds follows, with a serial number.
  // `level`: of a sleep.
  void Order(size_t replica, bool wake, SleepLevel level = SleepLevel::kUnsaid) {
    const bool able = !IsDown(replica) && (wake || !engines_[replica].machine->HasWork());
    orders_.Begin(replica, wake, able, level);
  }
  // Carries the order out; nullopt where the serial number is outdated.
  std::optional<ReplicaResidency> EndOrder(size_t replica, uint64_t serial);
  // True: the engine takes no requests. It is dead, or it sleeps until it is ordered to wake.
  bool IsAway(size_t replica) const { return IsDown(replica) || !orders_.IsAwake(replica); }
  const ResidencyOrders& orders() const { return orders_; }

 private:
  struct Engine {
    std::unique_ptr<simulated::StepMachine> machine;
    simulated::StepFaults faults;
    int64_t lost_preemptions = 0;  // Counted by machines before this one.
    int64_t lost_recomputed = 0;
    Bytes limit{0};  // As in SimulatedReplica.
    bool down = false;
    bool asleep = false;
    bool waking = false;
    uint64_t idle_serial = 0;  // Changes when an idle time begins or ends.
    uint64_t step_serial = 0;  // The serial of the newest end of the step in flight.
    StepTime step;             // The time of the step in flight.
  };

  // Ends the machine before it, in whatever step it is.
  void StartMachine(size_t replica);
  void StartStep(size_t replica);
  void MoveStepEnds();

  const SimulatedFleetSpec& spec_;
  EventQueue& events_;
  GpuAccounts& gpus_;
  ResidencyOrders orders_;
  simulated::GpuShare share_;
  std::vector<simulated::ElasticMemory> elastic_;
  std::vector<simulated::CacheJournal> journals_;  // One per replica; machines write to them.
  std::vector<Engine> engines_;
  std::vector<StepTime> step_times_;
  std::vector<simulated::GpuShare::StepEnd> moved_;  // Filled and emptied within one call.
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_ENGINES_SIMULATED_ENGINES_H_
