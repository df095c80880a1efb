// The simulated engine's pure step machine: vLLM V1's scheduler over a paged KV cache, without clock or I/O.
//
// One step takes the running requests in order, within a token budget: one decode token or the next prefill chunk each.
// Blocks are allocated for exactly these tokens. Without a free block the latest running request is preempted by
// recompute and goes to the front of the waiting list. If no request was preempted, waiting requests are admitted in
// order while all blocks of a sequence are free (scheduler_reserve_full_isl). The first one that does not fit ends the
// loop. Sources: vLLM v1/core/sched/scheduler.py, kv_cache_manager.py, block_pool.py. Overflow::kError is the unified
// pool of llama-server instead: no request is preempted, and an exhausted pool fails every running request. With a
// cache in the host, a step that admits a sequence first loads the prompt blocks that only the host has.
//
// Usage: call Submit() and Abort() at any time. When HasWork() and no step is in flight, BeginStep() schedules a step
// and returns its load. The caller decides its duration (StepCoefficients and neighbours). EndStep() applies the step
// and returns the tokens. One owner, not thread-safe. A step costs O(running + admitted).
#ifndef PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_MACHINE_H_
#define PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/simulated/machine/block_pool.h"
#include "backends/simulated/machine/host_cache.h"
#include "backends/simulated/machine/waiting_list.h"
#include "base/units.h"
#include "kvmodel/prefill_work.h"

namespace penstock::simulated {

enum class Overflow : uint8_t { kPreempt, kError };

struct EngineLimits {
  Tokens kv_tokens{0};  // The pool, rounded down to whole blocks.
  Tokens block{16};
  Bytes block_bytes{0};  // Used only by an elastic pool.
  int max_sequences = 256;
  Tokens batch_budget{2048};
  Tokens max_context{0};  // Prompt plus output; 0 or above the pool: the pool.
  Overflow overflow = Overflow::kPreempt;
  bool prefix_cache = true;
  Tokens host_tokens{0};       // The memory of the host keeps so many of prompts; 0: none.
  double host_seconds = 0;     // To load one of them.
  double tokens_per_step = 1;  // The mean of a sequence that decodes: speculation makes more than one.
};

using SequenceId = uint64_t;

struct Sequence {
  SequenceId id = 0;
  Tokens prompt{0};
  Tokens output{0};                     // The sequence ends after this many tokens (at least 1).
  std::vector<uint64_t> prefix_blocks;  // Chained hashes of the full blocks of the prompt.
  std::string session;                  // Named with the blocks that it stores.
  bool embedding = false;               // The sequence ends with its prefill and makes no token.
  bool keeps = false;                   // Its blocks stay taken behind its end, until Abort: another engine reads them.
  Tokens arrived{0};                    // Leading tokens of the prompt whose cache another engine computed.
};

// The work of a scheduled step, for the step-time model.
struct StepLoad {
  int sequences = 0;     // Sequences that decode.
  Tokens kv{0};          // Tokens that they attend to.
  PrefillWork prefill;   // The prompt chunks that the step computes, each behind its cached context, and its loads.
  Tokens recomputed{0};  // Tokens of the prefill that were computed before.
  int preempted = 0;     // Sequences that the step preempted.
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
  std::vector<TokenMade> tokens;     // Batch order; those of one sequence follow each other.
  std::vector<SequenceEnded> ended;  // Their last tokens are in `tokens`.
};

// Counters and levels, exact at any time.
struct EngineGauges {
  int running = 0;
  int waiting = 0;
  Blocks used{0};
  Blocks total{0};
  int64_t preemptions = 0;
  int64_t recomputed_tokens = 0;  // Prefill repeated after preemptions, generated tokens included.
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t prefix_queries = 0;  // Tokens.
  int64_t prefix_hits = 0;     // Tokens.
  int64_t host_queries = 0;    // Tokens that the GPU did not have.
  int64_t host_hits = 0;       // Tokens of those that the host had.
  int64_t finished = 0;
  int64_t aborted = 0;
  int64_t failed = 0;
  int64_t steps = 0;
};

class StepMachine {
 public:
  // Each block takes limits.block_bytes of `elastic`, which must outlive the machine. Null: a pool of its own. Changes
  // of the prefix cache are written to `journal`, which outlives it too. Null: nobody wants to know.
  explicit StepMachine(const EngineLimits& limits, ElasticMemory* elastic = nullptr, CacheJournal* journal = nullptr);

  // Queues a sequence. False when it can never run (no prompt, or a prompt of at least max_context), and when a
  // sequence with this id exists.
  bool Submit(const Sequence& sequence);
  // Removes a sequence, or what one that ended keeps, and frees its blocks. The outcome of a step in flight then omits
  // it. False for unknown ids.
  bool Abort(SequenceId id);

  // True when a step would compute a token. Waiting for elastic memory that neighbours hold is not work.
  bool HasWork() const;
  bool StepInFlight() const { return in_flight_; }
  // Schedules the next step. Precondition: HasWork() and no step in flight.
  StepLoad BeginStep();
  // Applies the step in flight. Precondition: StepInFlight().
  StepOutcome EndStep();

  EngineGauges Gauges() const;
  // The cache takes at most so much elastic memory, from the next allocation on.
  void SetLimit(Bytes limit) { pool_.SetLimit(limit.value()); }
  // The given context limit, at most the pool.
  Tokens MaxContext() const { return limits_.max_context; }

  // The memory of one running sequence (for /slots of llama-server).
  struct Held {
    SequenceId id = 0;
    Tokens computed{0};
    Tokens generated{0};
  };
  std::vector<Held> Running() const;  // In order of admission.

 private:
  using Slot = WaitingList::Slot;

  // A sequence and its progress. Slots are reused; `serial` identifies one use of a slot.
  struct State {
    int64_t tokens = 0;    // Prompt plus generated.
    int64_t computed = 0;  // Tokens with KV in memory or in the step in flight.
    int64_t room = 0;      // Tokens that the blocks can hold.
    int64_t generated = 0;
    int64_t reached = 0;  // The largest `computed` so far: prefill below it is a repetition.
    uint64_t serial = 0;
    std::vector<BlockIndex> blocks;
    std::vector<BlockIndex> lost;  // The blocks before the last preemption. They may still hold its tokens.
    Sequence request;
    int64_t cached_prompt = 0;
    bool decoding = false;  // The prefill is done.
    bool running = false;
    bool admitted = false;  // At least once.
    bool kept = false;      // It has ended and keeps its blocks.
  };
  struct Scheduled {
    Slot slot = WaitingList::kNone;
    uint64_t serial = 0;
    bool makes_token = false;
  };

  void ScheduleRunning(StepLoad& load);
  void AdmitWaiting(StepLoad& load);
  bool Admit(Slot slot, StepLoad& load);
  void Compute(Slot slot, int64_t tokens, StepLoad& load);
  // Gives the sequence room for `tokens`, preempting other sequences or itself. False when it preempted itself, and
  // when the pool is exhausted under Overflow::kError.
  bool MakeRoom(Slot slot, int64_t tokens, StepLoad& load);
  bool Allocate(State& state, int64_t tokens);
  void CacheFullBlocks(State& state, int64_t from, int64_t to);
  void PreemptLast(StepLoad& load);
  // Appends the longest cached chain of leading blocks to `found`.
  void FindCached(const State& state, std::vector<BlockIndex>& found) const;
  // The sequence makes its tokens of this step.
  void MakeTokens(Slot slot, StepOutcome& outcome);
  void EndSequence(Slot slot, SequenceEnd end, StepOutcome& outcome);
  void EndEverything(StepOutcome& outcome);
  void Free(Slot slot);
  void DropStopped();

  EngineLimits limits_;
  BlockPool pool_;
  std::vector<State> states_;
  std::vector<Slot> vacant_;
  std::vector<Slot> running_;  // In order of admission.
  absl::flat_hash_map<SequenceId, Slot> slots_;
  WaitingList waiting_;
  std::vector<Scheduled> step_;    // The step in flight.
  std::vector<BlockIndex> found_;  // Buffer of Admit(), reused to save allocations.
  HostCache host_;
  bool in_flight_ = false;
  bool exhausted_ = false;  // The step in flight ran out of pool.
  int64_t budget_ = 0;      // Tokens left in the step that is being scheduled.
  uint64_t next_serial_ = 1;
  EngineGauges counts_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_MACHINE_STEP_MACHINE_H_
