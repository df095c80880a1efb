// Discrete-event simulation of a fleet in virtual time: the very same decision core and engine step machine as live.
//
// What makes reality hard is in it: prompt lengths known only by estimate, output lengths unknown, engine reports that
// come every 250 ms and are old when they come, a link delay each way, neighbours that slow each other, streams that
// vanish. Events are ordered by (time, sequence), so equal seeds give equal runs. One run per object.
#ifndef PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
#define PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/gpu_share.h"
#include "backends/simulated/step_machine.h"
#include "bench/generator.h"
#include "bench/results.h"
#include "router/core/admission_core.h"

namespace penstock::bench {

// One replica's engine; its position is the replica's in the fleet.
struct SimulatedReplica {
  simulated::EngineLimits limits;
  StepCoefficients coefficients;
  std::vector<int> gpus;
  double slowdown = 1;
};

struct SimulatedFleetSpec {
  Fleet fleet;
  std::vector<SimulatedReplica> replicas;
  std::vector<simulated::Sharing> gpus;
};

struct SimulatedArrival {
  Duration at;
  ModelId model;
  ClassId priority;
  TenantId tenant;
  Tokens prompt{1};
  Tokens output{1};
  Tokens max_output{0};              // What the client states; 0: nothing.
  bool observed = true;              // False: answered in one piece.
  std::optional<Duration> vanishes;  // After arrival: the client goes away.
};

struct SimulationOptions {
  uint64_t seed = 1;
  double prompt_error = 0.03;  // Relative standard deviation of the estimate.
  Duration report_period = Duration::Milliseconds(250);
  Duration report_delay = Duration::Milliseconds(5);
  Duration link_delay = Duration::Microseconds(500);
  Duration sample_period = Duration::Milliseconds(25);
  Duration window = Duration::Seconds(300);  // Over which rates are taken.
};

struct SimulationOutcome {
  std::vector<RequestRecord> records;
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;
  int64_t overflow_failures = 0;  // Requests that a fatal pool's exhaustion ended.
  int64_t aborts = 0;             // Taken back by the core.
  CoreView final_view;
};

class FleetSimulation {
 public:
  // Sees every event before the core and every action after it.
  using Observer = std::function<void(const Event&, Instant, const std::vector<Action>&)>;

  FleetSimulation(SimulatedFleetSpec spec, AdmissionCore& core, SimulationOptions options);
  ~FleetSimulation();

  void Observe(Observer observer) { observer_ = std::move(observer); }
  // Arrivals in order of time. Runs until all of them have ended.
  SimulationOutcome Run(const std::vector<SimulatedArrival>& arrivals);

 private:
  enum class Kind : uint8_t { kArrival, kSubmit, kStepEnd, kDeliver, kReport, kSample, kTimer, kVanish, kReturn };
  struct Scheduled {
    Instant at;
    uint64_t order;
    Kind kind;
    uint64_t subject;  // Arrival index, replica, or position in `deliveries_`.
    uint64_t detail;
    bool operator>(const Scheduled& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  struct Live {
    SimulatedArrival arrival;
    size_t record = 0;
    bool waiting = true;
    bool open = true;
    uint64_t tries = 0;  // Distinguishes sequences of successive forwards.
    ReplicaId replica;
    int64_t tokens = 0;      // Delivered to the client.
    int64_t try_tokens = 0;  // Delivered by the current forward.
    int64_t sampled = 0;     // Of try_tokens, as of the last sample.
    bool first_seen = false;
  };
  struct Engine {
    std::unique_ptr<simulated::StepMachine> machine;
    StepCoefficients coefficients;
    double slowdown = 1;
    uint64_t step_serial = 0;
    std::vector<uint64_t> streams;  // Requests with an open stream here.
    Instant newest_step;
  };

  void Schedule(Instant at, Kind kind, uint64_t subject, uint64_t detail = 0);
  void Tell(const Event& event);
  void Act(const Action& action);
  void Handle(const Scheduled& event);
  void Arrive(uint64_t index);
  void Submit(uint64_t index, uint64_t tries);
  void StartStep(size_t replica);
  void EndStep(size_t replica, uint64_t serial);
  void Deliver(uint64_t position);
  void Report(size_t replica);
  void Sample();
  void Vanish(uint64_t index);
  void Return(uint64_t index);
  void Forget(uint64_t index);
  void End(uint64_t index, Fate fate, const std::string& reason);
  void MoveStepEnds(const std::vector<simulated::GpuShare::StepEnd>& moved);
  static simulated::SequenceId SequenceOf(uint64_t index, uint64_t tries) { return index * 64 + tries % 64; }

  SimulatedFleetSpec spec_;
  AdmissionCore& core_;
  SimulationOptions options_;
  Observer observer_;
  Generator generator_;
  Instant now_;
  uint64_t order_ = 0;
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> queue_;
  std::vector<Engine> engines_;
  simulated::GpuShare gpus_;
  std::vector<Live> live_;
  std::vector<std::pair<size_t, simulated::StepOutcome>> deliveries_;  // (replica, outcome), by position.
  std::vector<size_t> free_deliveries_;
  std::vector<RequestRecord> records_;
  int64_t open_ = 0;
  int64_t overflow_failures_ = 0;
  int64_t aborts_ = 0;
  std::optional<Instant> timer_at_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
