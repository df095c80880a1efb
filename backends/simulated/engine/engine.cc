#include "backends/simulated/engine/engine.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace penstock::simulated {
namespace {

// The bounds of vLLM (v1/metrics/loggers.py).
std::vector<double> FirstTokenBounds() {
  return {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};
}
std::vector<double> TokenBounds() {
  return {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
}
std::vector<double> RequestBounds() {
  return {.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
}
std::vector<double> LengthBounds(double most) {
  std::vector<double> bounds;
  for (double decade = 1; decade <= most; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (decade * step <= most) bounds.push_back(decade * step);
    }
  }
  return bounds;
}

EngineStats EmptyStats(double context) {
  return {Histogram(FirstTokenBounds()), Histogram(TokenBounds()),         Histogram(TokenBounds()),
          Histogram(RequestBounds()),    Histogram(LengthBounds(context)), Histogram(LengthBounds(context))};
}

StepMachine NewMachine(const EngineSpec& spec, ElasticMemory* elastic) {
  return StepMachine(spec.limits, elastic, spec.cache_feed ? &spec.cache_feed->journal : nullptr);
}

}  // namespace

Engine::Engine(EngineSpec spec, Instant start, ElasticMemory* elastic)
    : spec_(std::move(spec)),
      elastic_(elastic),
      adapters_(spec_.adapters),
      doze_(spec_.doze, spec_.time_scale, start),
      machine_(NewMachine(spec_, elastic)),
      faults_({spec_.slowdown.factor, spec_.slowdown.from, spec_.slowdown.to, spec_.slowdown.stall,
               spec_.slowdown.stall_every, spec_.noise},
              spec_.seed),
      start_(start),
      stats_(EmptyStats(machine_.MaxContext().AsDouble())) {}

std::optional<SequenceId> Engine::Submit(const SequenceOrder& order, Instant now) {
  Sequence sequence;
  sequence.id = ++last_id_;
  sequence.prompt = order.prompt;
  sequence.output = order.output;
  sequence.prefix_blocks = order.prefix_blocks;
  sequence.session = order.session;
  sequence.embedding = order.embedding;
  sequence.keeps = order.keeps;
  sequence.arrived = order.arrived;
  if (!machine_.Submit(sequence)) return std::nullopt;
  if (order.embedding && order.choice == 0) ++stats_.embedding_calls;
  Record& record = records_[sequence.id];
  record.order = order;
  record.order.prefix_blocks = {};
  record.arrived = now;
  if (records_.size() == 1 && !machine_.StepInFlight()) doze_.Rouse(now);
  doze_.Use(now);
  if (CanBegin() && on_work_) on_work_();
  return sequence.id;
}

void Engine::EndWake() {
  doze_.End();
  if (CanBegin() && on_work_) on_work_();
}

void Engine::Restart() {
  for (const auto& [id, record] : records_) machine_.Abort(id);
  records_.clear();
  adapters_.Clear();
  stats_ = EmptyStats(machine_.MaxContext().AsDouble());
  restart_due_ = machine_.StepInFlight();
  if (restart_due_) return;
  machine_ = NewMachine(spec_, elastic_);
  if (spec_.cache_feed) spec_.cache_feed->Restarted();
}

bool Engine::Wake() {
  if (!sleep_.Wake()) return false;
  if (CanBegin() && on_work_) on_work_();
  return true;
}

void Engine::Abort(SequenceId id) {
  machine_.Abort(id);
  records_.erase(id);
  // While a listener is called, FinishStep() goes on.
  if (touched_.empty() && CanBegin() && on_work_) on_work_();
}

StepWork Engine::BeginStep(Instant now) {
  const Duration simulated = Duration::Seconds((now - start_).seconds() * spec_.time_scale);
  step_.work = WorkOf(spec_.step, machine_.BeginStep(), faults_.FactorAt(simulated) / spec_.time_scale);
  step_.work.alone = step_.work.alone + Duration::Seconds(faults_.StandstillAt(simulated).seconds() / spec_.time_scale);
  step_.running = machine_.Gauges().running;
  return step_.work;
}

void Engine::FinishStep(Instant now) {
  const double seconds = step_.work.alone.seconds();
  stats_.prefill_seconds += seconds * step_.work.prefill_share;
  stats_.decode_seconds += seconds * (1 - step_.work.prefill_share);
  stats_.busy_slots += step_.running;
  const StepOutcome outcome = machine_.EndStep();
  doze_.Use(now);
  if (std::exchange(restart_due_, false)) {
    machine_ = NewMachine(spec_, elastic_);
    if (spec_.cache_feed) spec_.cache_feed->Restarted();
    return;
  }
  if (spec_.cache_feed) spec_.cache_feed->Publish();
  touched_.clear();
  ReportTokens(outcome, now);
  ReportEnds(outcome, now);
  for (SequenceListener* listener : touched_) listener->OnStep();
  touched_.clear();
}

void Engine::Touch(SequenceListener* listener) {
  // Choices of one request are usually neighbours in the batch. A second call of OnStep() does no harm.
  if (touched_.empty() || touched_.back() != listener) touched_.push_back(listener);
}

void Engine::ReportTokens(const StepOutcome& outcome, Instant now) {
  for (const TokenMade& token : outcome.tokens) {
    const auto found = records_.find(token.id);
    if (found == records_.end()) continue;
    Record& record = found->second;
    ++record.tokens;
    if (token.first) {
      record.first = now;
      stats_.first_token.Add((now - record.arrived).seconds());
    } else {
      stats_.inter_token.Add((now - record.last).seconds());
    }
    record.last = now;
    Touch(record.order.listener);
    record.order.listener->OnToken(record.order.choice);
  }
}

void Engine::ReportEnds(const StepOutcome& outcome, Instant now) {
  for (const SequenceEnded& ended : outcome.ended) {
    const auto found = records_.find(ended.id);
    if (found == records_.end()) continue;
    const Record record = std::move(found->second);
    records_.erase(found);
    CountEnd(record, ended, now);
    Touch(record.order.listener);
    record.order.listener->OnEnd(record.order.choice, ended);
  }
}

void Engine::CountEnd(const Record& record, const SequenceEnded& ended, Instant now) {
  stats_.longest = std::max(stats_.longest, (record.order.prompt + ended.generated).value());
  if (ended.end == SequenceEnd::kPoolExhausted) return;
  const bool by_length = ended.end == SequenceEnd::kContextFull || record.order.reason == FinishReason::kLength;
  ++(by_length ? stats_.by_length : stats_.stopped);
  stats_.whole.Add((now - record.arrived).seconds());
  stats_.prompt_tokens.Add(record.order.prompt.AsDouble());
  stats_.output_tokens.Add(ended.generated.AsDouble());
  if (record.tokens > 1) {
    stats_.per_output_token.Add((record.last - record.first).seconds() / static_cast<double>(record.tokens - 1));
  }
}

std::vector<Engine::Processing> Engine::Running() const {
  std::vector<Processing> all;
  for (const StepMachine::Held& held : machine_.Running()) {
    const Record& record = records_.at(held.id);
    all.push_back({held.id, record.order.prompt, held.computed, held.generated, record.order.output,
                   record.order.max_tokens, record.order.stream});
  }
  return all;
}

std::shared_ptr<Engine> RankNamed(const Engines& ranks, std::string_view number) {
  if (!number.empty()) {
    size_t rank = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
    return error == std::errc() && end == number.data() + number.size() && rank < ranks.size() ? ranks[rank] : nullptr;
  }
  const auto load = [](const std::shared_ptr<Engine>& rank) { return rank->Gauges().running + rank->Gauges().waiting; };
  return *std::min_element(ranks.begin(), ranks.end(),
                           [&load](const auto& a, const auto& b) { return load(a) < load(b); });
}

}  // namespace penstock::simulated
