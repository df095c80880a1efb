// Discrete-event simulation of a fleet in virtual time: the very same decision core and engine step machine as live.
//
// What makes reality hard is in it: prompt lengths known only by estimate, output lengths unknown, engine reports that
// come every 250 ms and are old when they come, a link delay each way, neighbours that slow each other, elastic memory
// shared by neighbours, prefix caches, replicas that turn slow, die and come back, engines that sleep, streams that
// vanish. Events are ordered by (time, sequence), so equal seeds give equal runs. One run per object.
#ifndef PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
#define PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/gpu_share.h"
#include "backends/simulated/machine/step_machine.h"
#include "base/generator.h"
#include "bench/figures/results.h"
#include "bench/simulation/gpu_accounts.h"
#include "router/core/contract/admission_core.h"

namespace penstock::bench {

// One replica's engine; its position is the replica's in the fleet.
struct SimulatedReplica {
  simulated::EngineLimits limits;
  StepCoefficients coefficients;
  std::vector<int> gpus;
  double slowdown = 1;  // Multiplies steps that begin in [slow_from, slow_to).
  Duration slow_from;
  Duration slow_to = Duration::Infinite();
  int elastic = -1;  // Position in SimulatedFleetSpec::elastic of the memory its cache is part of.
  Duration down_from = Duration::Infinite();
  Duration down_to = Duration::Infinite();
  Duration sleep_after = Duration::Infinite();
  Duration wake;
};

struct SimulatedFleetSpec {
  Fleet fleet;
  std::vector<SimulatedReplica> replicas;
  std::vector<simulated::Sharing> gpus;
  std::vector<std::string> gpu_names;  // Of gpus; may be empty.
  std::vector<Bytes> elastic;          // Memory that several replicas' caches draw from.
};

struct SimulatedArrival {
  Duration at;
  ModelId model;
  ClassId service_class;
  TenantId tenant;
  Tokens prompt{1};
  Tokens output{1};
  Tokens max_output{0};              // What the client states; 0: nothing.
  bool observed = true;              // False: answered in one piece.
  std::optional<Duration> vanishes;  // After arrival: the client goes away.
  std::string tenant_name;           // Empty: the id's number.
  std::vector<uint64_t> prefix;      // Chained hashes of the prompt's full blocks of kPrefixBlock tokens.
};

struct SimulationOptions {
  uint64_t seed = 1;
  double prompt_error = 0.03;  // Relative standard deviation of the estimate.
  double step_error = 0.1;     // The core's prior of each replica's step time is wrong by up to this share.
  Duration report_period = Duration::Milliseconds(250);
  Duration report_delay = Duration::Milliseconds(5);
  Duration link_delay = Duration::Microseconds(500);
  Duration sample_period = Duration::Milliseconds(25);
  Duration window = Duration::Seconds(300);  // Over which rates are taken.
  // Called now and then with the virtual time and the requests that have ended.
  std::function<void(Duration, int64_t)> progress;
};

struct SimulationOutcome {
  std::vector<RequestRecord> records;
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;  // Within the window; prompts computed again for a returned request included.
  int64_t overflow_failures = 0;  // Requests that a fatal pool's exhaustion ended.
  int64_t aborts = 0;             // Taken back by the core.
  CoreView final_view;
  std::vector<std::array<double, kGpuStates>> gpu_seconds;  // By GPU and GpuState, within the window.
  std::vector<double> decision_us;                          // Real time of each Apply; the only unrepeatable figure.
  std::vector<double> prompt_errors;                        // Relative, of each estimate.
  std::array<std::vector<double>, kForecastChecks> pool_errors;  // Signed, over capacity, at 1, 10 and 60 s.
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
  enum class Kind : uint8_t {
    kArrival,
    kSubmit,
    kStepEnd,
    kDeliver,
    kMeasure,  // The engine's gauges are read...
    kReport,   // ...and arrive.
    kSample,
    kTimer,
    kVanish,
    kReturn,
    kDies,
    kRises,
    kDozes,
    kWakes,
    kWindowEnd,
  };
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
    EngineReport measured;
    int64_t lost_preemptions = 0;  // Of machines that died.
    int64_t lost_recomputed = 0;
    bool down = false;
    bool asleep = false;
    bool waking = false;
    uint64_t idle_serial = 0;  // Of the current idle time.
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
  void StartNeighboursInMemory(size_t replica);
  void EndStep(size_t replica, uint64_t serial);
  void Deliver(uint64_t position);
  void Measure(size_t replica);
  void Sample();
  void SampleGroup(const std::vector<size_t>& replicas);
  void SampleForecasts();
  void Die(size_t replica);
  void Rise(size_t replica);
  void Doze(size_t replica, uint64_t serial);
  void Wake(size_t replica);
  void StartMachine(size_t replica);
  void ScheduleFaults();
  void AddRecord(const SimulatedArrival& arrival);
  double FactorNow(size_t replica) const;
  int64_t RecomputedSoFar() const;
  void Vanish(uint64_t index);
  void Requeue(uint64_t index);
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
  std::vector<std::vector<size_t>> groups_;  // Replicas that share a pool: their progress is told together.
  simulated::GpuShare gpus_;
  std::vector<Live> live_;
  std::vector<std::pair<size_t, simulated::StepOutcome>> deliveries_;  // (replica, outcome), by position.
  std::vector<size_t> free_deliveries_;
  std::vector<RequestRecord> records_;
  int64_t open_ = 0;
  std::vector<simulated::ElasticMemory> elastic_;
  std::optional<GpuAccounts> accounts_;
  SimulationOutcome outcome_;
  int64_t recomputed_elsewhere_ = 0;  // Prompts and kept tokens of requests that had to move.
  bool window_over_ = false;
  std::array<std::vector<int64_t>, kForecastChecks> compared_;  // By pool: forecast comparisons seen.
  Instant forecasts_sampled_;
  std::optional<Instant> timer_at_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_SIMULATION_FLEET_SIMULATION_H_
