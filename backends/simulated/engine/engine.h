// A simulated engine: a step machine whose sequences have listeners, times and counters.
//
// No I/O; time is an argument. StepClock begins and finishes its steps. Used on one thread. Only FinishStep() calls
// listeners. A listener may call Abort() then, but not Submit().
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/engine/adapter_set.h"
#include "backends/simulated/engine/doze.h"
#include "backends/simulated/engine/engine_spec.h"
#include "backends/simulated/engine/histogram.h"
#include "backends/simulated/engine/sleep_state.h"
#include "backends/simulated/machine/gpu_share.h"
#include "backends/simulated/machine/step_faults.h"
#include "backends/simulated/machine/step_machine.h"
#include "base/units.h"

namespace penstock::simulated {

class SequenceListener {
 public:
  virtual ~SequenceListener() = default;
  virtual void OnToken(int choice) = 0;
  virtual void OnEnd(int choice, const SequenceEnded& ended) = 0;
  // Called once per step, after all its tokens and ends.
  virtual void OnStep() = 0;
};

// The reason in the answer when a sequence ends normally.
enum class FinishReason : uint8_t { kStop, kLength, kToolCalls };

struct SequenceOrder {
  Tokens prompt{0};
  Tokens output{0};
  std::vector<uint64_t> prefix_blocks;
  std::string session;
  bool embedding = false;
  bool keeps = false;  // Its cache stays behind its end, until Abort().
  Tokens arrived{0};   // Leading tokens whose cache another engine handed over.
  FinishReason reason = FinishReason::kStop;
  std::optional<Tokens> max_tokens;  // The limit of the client.
  bool stream = false;
  SequenceListener* listener = nullptr;  // Must live until OnEnd() or Abort(), and through a whole FinishStep().
  int choice = 0;
};

struct EngineStats {
  Histogram first_token;       // Seconds from arrival to the first token.
  Histogram inter_token;       // Seconds between tokens.
  Histogram per_output_token;  // Mean seconds per token of each request.
  Histogram whole;             // Seconds from arrival to the end.
  Histogram prompt_tokens;
  Histogram output_tokens;
  int64_t stopped = 0;
  int64_t by_length = 0;
  double prefill_seconds = 0;   // The prefill part of all steps.
  double decode_seconds = 0;    // The decode part of all steps.
  int64_t busy_slots = 0;       // Running sequences, summed over steps.
  int64_t longest = 0;          // Tokens of the longest sequence.
  int64_t embedding_calls = 0;  // Each has one sequence or several.
};

class Engine {
 public:
  // Simulated time begins at `start`. The cache is part of `elastic`; null: it has memory of its own.
  Engine(EngineSpec spec, Instant start, ElasticMemory* elastic = nullptr);

  // Queues a sequence. Null when it can never run.
  std::optional<SequenceId> Submit(const SequenceOrder& order, Instant now);
  // Also what a sequence that ended keeps.
  void Abort(SequenceId id);
  // `on_work` is called when there is work and no step is in flight.
  void OnWork(std::function<void()> on_work) { on_work_ = std::move(on_work); }

  bool CanBegin() const {
    return machine_.HasWork() && !machine_.StepInFlight() && !sleep_.asleep() && !doze_.waking();
  }
  StepWork BeginStep(Instant now);
  void FinishStep(Instant now);

  void SetSleepState(SleepState state) { sleep_ = std::move(state); }
  SleepState& sleep() { return sleep_; }
  const SleepState& sleep() const { return sleep_; }
  AdapterSet& adapters() { return adapters_; }
  const AdapterSet& adapters() const { return adapters_; }
  // Forgets all requests, its cache, its counters and its adapters, as a new process does.
  void Restart();
  // The sleep that it takes by itself. EndWake is due when its wake ends.
  Doze& doze() { return doze_; }
  void EndWake();
  // Runs the requests that waited for it. False: it could not wake.
  bool Wake();

  const EngineSpec& spec() const { return spec_; }
  const EngineStats& stats() const { return stats_; }
  EngineGauges Gauges() const { return machine_.Gauges(); }
  Tokens MaxContext() const { return machine_.MaxContext(); }

  struct Processing {
    SequenceId id = 0;
    Tokens prompt{0};
    Tokens held{0};
    Tokens generated{0};
    Tokens output{0};
    std::optional<Tokens> max_tokens;
    bool stream = false;
  };
  std::vector<Processing> Running() const;

 private:
  struct Record {
    SequenceOrder order;
    Instant arrived;
    Instant first;
    Instant last;
    int64_t tokens = 0;
  };

  void Touch(SequenceListener* listener);
  void ReportTokens(const StepOutcome& outcome, Instant now);
  void ReportEnds(const StepOutcome& outcome, Instant now);
  void CountEnd(const Record& record, const SequenceEnded& ended, Instant now);

  EngineSpec spec_;
  ElasticMemory* elastic_;
  SleepState sleep_;
  AdapterSet adapters_;
  Doze doze_;
  StepMachine machine_;
  StepFaults faults_;
  Instant start_;
  EngineStats stats_;
  absl::flat_hash_map<SequenceId, Record> records_;
  std::vector<SequenceListener*> touched_;  // Listeners of the step that FinishStep() reports.
  std::function<void()> on_work_;
  bool restart_due_ = false;  // Once the step in flight has ended.
  SequenceId last_id_ = 0;
  struct InFlight {
    StepWork work;
    int running = 0;
  };
  InFlight step_;
};

// The data-parallel ranks behind one address; one at least.
using Engines = std::vector<std::shared_ptr<Engine>>;
// The rank of this number, or the one with the fewest requests where the text is empty. Null: there is no such rank.
std::shared_ptr<Engine> RankNamed(const Engines& ranks, std::string_view number);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_ENGINE_H_
