#include "backends/simulated/machine/step_machine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "backends/simulated/machine/speculation.h"

namespace penstock::simulated {
namespace {

EngineLimits Checked(EngineLimits limits) {
  assert(limits.block.value() > 0 && limits.max_sequences > 0 && limits.batch_budget.value() > 0);
  const Tokens pool(limits.kv_tokens.value() / limits.block.value() * limits.block.value());
  limits.kv_tokens = pool;
  if (limits.max_context <= Tokens(0) || limits.max_context > pool) limits.max_context = pool;
  return limits;
}

}  // namespace

StepMachine::StepMachine(const EngineLimits& limits, ElasticMemory* elastic, CacheJournal* journal)
    : limits_(Checked(limits)),
      pool_(Blocks(limits_.kv_tokens.value() / limits_.block.value()), elastic, limits_.block_bytes.value(), journal),
      host_(limits_.prefix_cache ? limits_.host_tokens.value() / limits_.block.value() : 0, journal) {
  counts_.total = Blocks(pool_.Total());
}

bool StepMachine::Submit(const Sequence& sequence) {
  const bool too_long = sequence.prompt >= limits_.max_context;
  const bool empty = sequence.prompt < Tokens(1) || (!sequence.embedding && sequence.output < Tokens(1));
  if (too_long || empty || slots_.contains(sequence.id)) return false;
  if (vacant_.empty()) {
    vacant_.push_back(static_cast<Slot>(states_.size()));
    states_.emplace_back();
  }
  const Slot slot = vacant_.back();
  vacant_.pop_back();
  State& state = states_[slot];
  state = State();
  state.request = sequence;
  state.tokens = sequence.prompt.value();
  state.serial = next_serial_++;
  slots_.emplace(sequence.id, slot);
  waiting_.PushBack(slot);
  return true;
}

bool StepMachine::Abort(SequenceId id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return false;
  const Slot slot = found->second;
  if (states_[slot].running) {
    running_.erase(std::find(running_.begin(), running_.end(), slot));
  } else if (!states_[slot].kept) {
    waiting_.Remove(slot);
  }
  counts_.aborted += states_[slot].kept ? 0 : 1;
  Free(slot);
  return true;
}

bool StepMachine::HasWork() const {
  if (!running_.empty()) return true;
  // Only elastic memory can be too full for a single prompt: neighbours hold it.
  return !waiting_.empty() &&
         BlocksToHold(Tokens(states_[waiting_.front()].tokens), limits_.block).value() <= pool_.Free();
}

StepLoad StepMachine::BeginStep() {
  assert(HasWork() && !in_flight_);
  StepLoad load;
  step_.clear();
  in_flight_ = true;
  exhausted_ = false;
  budget_ = limits_.batch_budget.value();
  ScheduleRunning(load);
  if (load.preempted == 0 && !exhausted_) AdmitWaiting(load);
  ++counts_.steps;
  counts_.recomputed_tokens += load.recomputed.value();
  return load;
}

void StepMachine::ScheduleRunning(StepLoad& load) {
  for (size_t i = 0; i < running_.size() && budget_ > 0 && !exhausted_; ++i) {
    const Slot slot = running_[i];
    const State& state = states_[slot];
    const int64_t tokens = std::min(state.tokens - state.computed, budget_);
    if (MakeRoom(slot, state.computed + tokens, load)) Compute(slot, tokens, load);
  }
}

void StepMachine::AdmitWaiting(StepLoad& load) {
  while (!waiting_.empty() && budget_ > 0 && !exhausted_ && static_cast<int>(running_.size()) < limits_.max_sequences) {
    if (!Admit(waiting_.front(), load)) return;
  }
}

bool StepMachine::Admit(Slot slot, StepLoad& load) {
  State& state = states_[slot];
  found_.clear();
  const bool shared_pool = limits_.overflow == Overflow::kError;
  if (!shared_pool) {
    if (pool_.Free() == 0) return false;  // At least one token is always computed, in a block of its own.
    FindCached(state, found_);
    // A cached block without a reference stops being free when it is used again.
    const auto live = std::count_if(found_.begin(), found_.end(), [&](BlockIndex b) { return !pool_.IsFree(b); });
    if (BlocksToHold(Tokens(state.tokens), limits_.block).value() - live > pool_.Free()) return false;
  }
  for (const BlockIndex block : found_) pool_.Reuse(block);
  state.blocks = found_;
  state.lost = {};
  const int64_t block = limits_.block.value();
  const int64_t cached = static_cast<int64_t>(found_.size()) * block;
  const int64_t loaded = host_.Use(state.request.prefix_blocks, found_.size(), (state.tokens - 1) / block) * block;
  state.room = cached;
  state.computed = cached + loaded;
  if (!state.admitted) {
    counts_.prefix_queries += state.tokens;
    counts_.prefix_hits += cached;
    counts_.host_queries += host_.capacity() > 0 ? state.tokens - cached : 0;
    counts_.host_hits += loaded;
    counts_.prompt_tokens += state.tokens;
    state.cached_prompt = state.computed;
    state.computed = std::max(state.computed, std::min(state.request.arrived.value(), state.tokens - 1));
    state.reached = state.computed;
  }
  state.admitted = true;
  waiting_.Remove(slot);
  state.running = true;
  running_.push_back(slot);
  const int64_t tokens = std::min(state.tokens - state.computed, budget_);
  if (!MakeRoom(slot, state.computed + tokens, load)) return true;
  if (limits_.prefix_cache) CacheFullBlocks(state, cached, state.computed);
  load.prefill.load += Duration::Seconds(static_cast<double>(loaded) * limits_.host_seconds);
  Compute(slot, tokens, load);
  return true;
}

void StepMachine::Compute(Slot slot, int64_t tokens, StepLoad& load) {
  State& state = states_[slot];
  const int64_t from = state.computed;
  state.computed += tokens;
  budget_ -= tokens;
  if (state.decoding) {
    ++load.sequences;
    load.kv += Tokens(state.computed);
  } else {
    load.prefill += PrefillOf(Tokens(from), Tokens(state.computed));
    load.recomputed += Tokens(std::max<int64_t>(0, std::min(state.reached, state.computed) - from));
  }
  state.reached = std::max(state.reached, state.computed);
  if (limits_.prefix_cache) CacheFullBlocks(state, from, state.computed);
  const bool whole = state.computed == state.tokens;
  if (whole) state.decoding = true;
  step_.push_back({slot, state.serial, whole});
}

bool StepMachine::MakeRoom(Slot slot, int64_t tokens, StepLoad& load) {
  while (!Allocate(states_[slot], tokens)) {
    if (limits_.overflow == Overflow::kError) {
      exhausted_ = true;
      return false;
    }
    const bool itself = running_.back() == slot;
    PreemptLast(load);
    if (itself) return false;
  }
  return true;
}

bool StepMachine::Allocate(State& state, int64_t tokens) {
  if (tokens <= state.room) return true;
  const int64_t block = limits_.block.value();
  const int64_t missing = (tokens - state.room + block - 1) / block;
  if (missing > pool_.Free()) return false;
  for (int64_t i = 0; i < missing; ++i) state.blocks.push_back(pool_.Take());
  state.room += missing * block;
  return true;
}

void StepMachine::PreemptLast(StepLoad& load) {
  const Slot slot = running_.back();
  running_.pop_back();
  State& state = states_[slot];
  pool_.Release(state.blocks);
  state.lost = std::move(state.blocks);
  state.blocks = {};
  state.computed = 0;
  state.room = 0;
  state.decoding = false;
  state.running = false;
  waiting_.PushFront(slot);
  ++load.preempted;
  ++counts_.preemptions;
}

StepOutcome StepMachine::EndStep() {
  assert(in_flight_);
  in_flight_ = false;
  StepOutcome outcome;
  if (exhausted_) EndEverything(outcome);
  outcome.tokens.reserve(step_.size());
  for (const Scheduled& scheduled : step_) {
    State& state = states_[scheduled.slot];
    if (!scheduled.makes_token || state.serial != scheduled.serial) continue;
    if (state.request.embedding) {
      EndSequence(scheduled.slot, SequenceEnd::kStop, outcome);
      continue;
    }
    MakeTokens(scheduled.slot, outcome);
  }
  if (!outcome.ended.empty()) DropStopped();
  return outcome;
}

void StepMachine::MakeTokens(Slot slot, StepOutcome& outcome) {
  State& state = states_[slot];
  const int64_t left = state.request.output.value() - state.generated;
  const int64_t most = std::min(limits_.max_context.value() - state.tokens, left);
  const int64_t made = TokensOfStep(limits_.tokens_per_step, state.serial, state.generated, most);
  for (int64_t i = 0; i < made; ++i) outcome.tokens.push_back({state.request.id, state.generated + i == 0});
  state.generated += made;
  state.tokens += made;
  counts_.generated_tokens += made;
  if (state.generated >= state.request.output.value()) {
    EndSequence(slot, SequenceEnd::kStop, outcome);
  } else if (state.tokens >= limits_.max_context.value()) {
    EndSequence(slot, SequenceEnd::kContextFull, outcome);
  }
}

void StepMachine::EndSequence(Slot slot, SequenceEnd end, StepOutcome& outcome) {
  State& state = states_[slot];
  outcome.ended.push_back({state.request.id, end, Tokens(state.generated), Tokens(state.cached_prompt)});
  ++(end == SequenceEnd::kPoolExhausted ? counts_.failed : counts_.finished);
  state.running = false;
  state.kept = state.request.keeps && end != SequenceEnd::kPoolExhausted;
  if (!state.kept) Free(slot);
}

void StepMachine::EndEverything(StepOutcome& outcome) {
  const std::vector<Slot> processing = std::exchange(running_, {});
  for (const Slot slot : processing) EndSequence(slot, SequenceEnd::kPoolExhausted, outcome);
}

void StepMachine::Free(Slot slot) {
  State& state = states_[slot];
  pool_.Release(state.blocks);
  slots_.erase(state.request.id);
  state = State();
  vacant_.push_back(slot);
}

void StepMachine::DropStopped() {
  // A freed slot is back at its defaults, so `running` is false.
  running_.erase(std::remove_if(running_.begin(), running_.end(), [&](Slot slot) { return !states_[slot].running; }),
                 running_.end());
}

EngineGauges StepMachine::Gauges() const {
  EngineGauges gauges = counts_;
  gauges.running = static_cast<int>(running_.size());
  gauges.waiting = waiting_.size();
  gauges.used = Blocks(pool_.Used());
  return gauges;
}

std::vector<StepMachine::Held> StepMachine::Running() const {
  std::vector<Held> held;
  held.reserve(running_.size());
  for (const Slot slot : running_) {
    held.push_back({states_[slot].request.id, Tokens(states_[slot].computed), Tokens(states_[slot].generated)});
  }
  return held;
}

}  // namespace penstock::simulated
