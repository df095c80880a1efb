// The simulated engine's pure step machine: vLLM V1's scheduler over a paged KV cache, without clock or I/O.
//
// One step: running requests first in order (decode one token, or the next prefill chunk), within a token budget;
// blocks allocated for exactly those tokens; on failure the latest running request is preempted by recompute and goes
// to the front of waiting; if nothing was preempted, waiting requests are admitted first come first served while the
// whole sequence's blocks are free (scheduler_reserve_full_isl), the first that does not fit ends the loop. Sources:
// vLLM v1/core/sched/scheduler.py, kv_cache_manager.py, block_pool.py. With Overflow::kError it is llama-server's
// unified pool instead: nothing is preempted, an exhausted pool fails every running request.
//
// Usage: Submit or Abort at any time between steps; when HasWork() and no step is in flight, BeginStep() schedules and
// tells what the step computes; its duration is the caller's business (StepCoefficients and neighbours); EndStep()
// applies it and tells who got tokens. One owner, not thread-safe. A step costs O(running + admitted).
#ifndef PENSTOCK_BACKENDS_SIMULATED_STEP_MACHINE_H_
#define PENSTOCK_BACKENDS_SIMULATED_STEP_MACHINE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/block_pool.h"
#include "base/units.h"

namespace penstock::simulated {

enum class Overflow : uint8_t { kPreempt, kError };

struct EngineLimits {
  Tokens kv_tokens{0};  // Pool; rounded down to whole blocks.
  Tokens block{16};
  Bytes block_bytes{0};  // Where the pool is elastic.
  int max_sequences = 256;
  Tokens batch_budget{2048};
  Tokens max_context{0};  // Prompt plus output; 0 or above the pool: the pool.
  Overflow overflow = Overflow::kPreempt;
  bool prefix_cache = true;
};

using SequenceId = uint64_t;

struct Sequence {
  SequenceId id = 0;
  Tokens prompt{0};
  Tokens output{0};                     // It ends by itself after this many tokens (at least 1).
  std::vector<uint64_t> prefix_blocks;  // Chained hashes of the prompt's full blocks of EngineLimits::block tokens.
  bool embedding = false;               // Ends with its prefill, makes no token.
};

// What a scheduled step computes, for the step-time model.
struct StepLoad {
  int sequences = 0;  // Decoding.
  Tokens kv{0};       // Attended by them.
  Tokens prefill{0};  // Prompt tokens computed.
  int preempted = 0;  // In this step.
};

enum class SequenceEnd : uint8_t { kStop, kContextFull, kPoolExhausted };

struct TokenMade {
  SequenceId id = 0;
  bool first = false;
  bool operator==(const TokenMade&) const = default;
};

struct SequenceEnded {
  SequenceId id = 0;
  SequenceEnd end = SequenceEnd::kStop;
  Tokens generated{0};
  Tokens cached_prompt{0};
  bool operator==(const SequenceEnded&) const = default;
};

struct StepOutcome {
  std::vector<TokenMade> tokens;     // In batch order; at most one per sequence.
  std::vector<SequenceEnded> ended;  // After their last token.
};

// Exact at any time.
struct EngineGauges {
  int running = 0;
  int waiting = 0;
  Blocks used{0};
  Blocks total{0};
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;  // Prefill done again after preemption, generated tokens included.
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t prefix_queries = 0;  // Tokens.
  int64_t prefix_hits = 0;
  int64_t finished = 0;
  int64_t aborted = 0;
  int64_t failed = 0;
  int64_t steps = 0;
};

class StepMachine {
 public:
  explicit StepMachine(const EngineLimits& limits) : StepMachine(limits, nullptr) {}
  // Its blocks, of limits.block_bytes each, come out of `elastic` (null: a pool of its own), which outlives it.
  StepMachine(const EngineLimits& limits, ElasticMemory* elastic);

  // Queues a sequence. False when it can never run (no prompt, or a prompt of at least max_context) or when a
  // sequence of that id is still here.
  bool Submit(const Sequence& sequence);
  // Removes a sequence and frees its blocks; during a step it is dropped from the outcome. False when unknown.
  bool Abort(SequenceId id);

  // Whether a step would compute anything. Waiting for elastic memory that neighbours hold is not work.
  bool HasWork() const;
  bool StepInFlight() const;
  // Schedules the next step. Precondition: HasWork() and no step in flight.
  StepLoad BeginStep();
  // Applies the step in flight.
  StepOutcome EndStep();

  EngineGauges Gauges() const;
  // The effective context: the limit given, or the pool.
  Tokens MaxContext() const { return limits_.max_context; }

  // What one sequence holds now, in order of admission (for llama-server's /slots).
  struct Held {
    SequenceId id = 0;
    Tokens computed{0};
    Tokens generated{0};
  };
  std::vector<Held> Running() const;

 private:
  using Slot = int32_t;
  static constexpr Slot kNone = -1;

  // A sequence and where it stands. Slots are reused; `serial` tells one tenancy of a slot from the next.
  struct State {
    int64_t tokens = 0;    // Prompt plus generated.
    int64_t computed = 0;  // Whose KV is held or being computed.
    int64_t room = 0;      // Tokens that its blocks can hold.
    int64_t generated = 0;
    int64_t reached = 0;  // The most ever computed: below it, prefill is done again.
    uint64_t serial = 0;
    std::vector<BlockIndex> blocks;
    std::vector<BlockIndex> lost;  // Its blocks before the last preemption; may still hold its tokens.
    Sequence request;
    int64_t cached_prompt = 0;
    Slot previous = kNone;  // In `waiting`.
    Slot next = kNone;
    bool decoding = false;  // Its prefill is done.
    bool running = false;
    bool admitted = false;  // At least once.
  };
  struct Scheduled {
    Slot slot = kNone;
    uint64_t serial = 0;
    bool makes_token = false;
  };

  void ScheduleRunning(StepLoad& load);
  void AdmitWaiting(StepLoad& load);
  bool Admit(Slot slot, StepLoad& load);
  void Compute(Slot slot, int64_t tokens, StepLoad& load);
  // Gives the sequence room for `tokens`, preempting others or itself. False when it was preempted itself, or the
  // pool is exhausted under Overflow::kError.
  bool MakeRoom(Slot slot, int64_t tokens, StepLoad& load);
  bool Allocate(State& state, int64_t tokens);
  void CacheFullBlocks(State& state, int64_t from, int64_t to);
  void PreemptLast(StepLoad& load);
  // The longest chain of its leading blocks that is cached.
  void FindCached(const State& state, std::vector<BlockIndex>& found) const;
  void EndSequence(Slot slot, SequenceEnd end, StepOutcome& outcome);
  void EndEverything(StepOutcome& outcome);
  void Free(Slot slot);
  void DropStopped();
  void PushWaiting(Slot slot, bool front);
  void TakeFromWaiting(Slot slot);

  EngineLimits limits_;
  BlockPool pool_;
  std::vector<State> states_;
  std::vector<Slot> vacant_;
  std::vector<Slot> running_;  // In order of admission.
  absl::flat_hash_map<SequenceId, Slot> slots_;
  Slot waiting_head_ = kNone;
  Slot waiting_tail_ = kNone;
  int waiting_ = 0;
  std::vector<Scheduled> step_;    // Of the step in flight.
  std::vector<BlockIndex> found_;  // Scratch of Admit.
  bool in_flight_ = false;
  bool exhausted_ = false;  // The step in flight ran out of pool.
  int64_t budget_ = 0;      // Left in the step being scheduled.
  uint64_t next_serial_ = 1;
  EngineGauges counts_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_STEP_MACHINE_H_
