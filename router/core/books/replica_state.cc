#include "router/core/books/replica_state.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

// Steps over which their excess over a decode step is averaged: a few seconds.
constexpr double kExcessMemorySteps = 50;

}  // namespace

void ReplicaState::Configure(const ReplicaSpec& spec, const std::vector<ClassSpec>& classes) {
  if (spec.prior != spec_.prior || spec.prior_known != spec_.prior_known || spec_.name.empty()) {
    model_ = StepModel(spec.prior, spec.prior_known);
  }
  spec_ = spec;
  prefixes.SetCapacity(spec.prefix_cache.value() / kPrefixBlock.value());
  classes_ = classes;
  if (due_.size() < classes.size()) due_.resize(classes.size());
}

int64_t ReplicaState::Generated(const RequestState& request) const {
  if (request.phase != RequestPhase::kDecoding) return 0;
  return request.base_tokens + step_count_ - request.base_steps;
}

int64_t ReplicaState::DueKey(const RequestState& request) const {
  const ClassSpec& goals = classes_[request.arrived.service_class.value()];
  const int64_t ahead = request.kept.value() + request.base_tokens - request.base_steps;
  return (request.arrival + goals.ttft).nanoseconds() + ahead * goals.tpot.nanoseconds();
}

Tokens ReplicaState::PrefillOf(const RequestState& request) const {
  const Tokens cached = kPrefixBlock * prefixes.Match(request.arrived.prefix);
  return std::max(Tokens(1), request.Prompt() - cached);
}

void ReplicaState::Join(RequestState* request, Instant now) {
  if (!busy()) {
    last_step_end_.reset();
    proven_ = 0;
  }
  request->phase = RequestPhase::kPrefilling;
  request->dispatched = now;
  request->prefill_left = PrefillOf(*request);
  prefixes.Touch(request->arrived.prefix);
  request->slot = requests_.size();
  requests_.push_back(request);
  prefilling_.push_back(request);
  sequences_ += request->arrived.sequences;
  if (!request->arrived.observed) ++unobserved_;
  backlog_ += request->prefill_left.AsDouble();
}

void ReplicaState::BecomeDecoding(RequestState* request) {
  assert(request->phase == RequestPhase::kPrefilling);
  // Prompts are computed in order: a first token proves everything ahead of it done.
  for (RequestState* earlier : prefilling_) {
    backlog_ -= earlier->prefill_left.AsDouble();
    proven_ += earlier->prefill_left.AsDouble();
    earlier->prefill_left = Tokens(0);
    if (earlier == request) break;
  }
  backlog_ = std::max(0.0, backlog_);
  prefilling_.erase(std::find(prefilling_.begin(), prefilling_.end(), request));
  if (prefilling_.empty()) backlog_ = 0;
  request->phase = RequestPhase::kDecoding;
  request->base_tokens = 1;
  request->base_steps = step_count_;
  request->due_key = DueKey(*request);
  due_[request->arrived.service_class.value()].insert({request->due_key, request->arrived.request.value()});
  decoding_ += request->arrived.sequences;
  kv_tokens_ += request->arrived.sequences * (request->Prompt().AsDouble() + 1);
  fresh_.push_back(request);
}

void ReplicaState::Correct(RequestState* request, int64_t tokens) {
  if (request->phase != RequestPhase::kDecoding) return;
  const int64_t before = Generated(*request);
  kv_tokens_ += static_cast<double>((tokens - before) * request->arrived.sequences);
  DueSet& due = due_[request->arrived.service_class.value()];
  due.erase({request->due_key, request->arrived.request.value()});
  request->base_tokens = tokens;
  request->base_steps = step_count_;
  request->due_key = DueKey(*request);
  due.insert({request->due_key, request->arrived.request.value()});
}

void ReplicaState::Leave(RequestState* request) {
  if (request->phase == RequestPhase::kPrefilling) {
    backlog_ = std::max(0.0, backlog_ - request->prefill_left.AsDouble());
    prefilling_.erase(std::find(prefilling_.begin(), prefilling_.end(), request));
    if (prefilling_.empty()) backlog_ = 0;
  } else if (request->phase == RequestPhase::kDecoding) {
    due_[request->arrived.service_class.value()].erase({request->due_key, request->arrived.request.value()});
    decoding_ -= request->arrived.sequences;
    kv_tokens_ -=
        request->arrived.sequences * (request->Prompt().AsDouble() + static_cast<double>(Generated(*request)));
    if (decoding_ <= 0) kv_tokens_ = 0;
    fresh_.erase(std::remove(fresh_.begin(), fresh_.end(), request), fresh_.end());
  }
  sequences_ -= request->arrived.sequences;
  if (!request->arrived.observed) --unobserved_;
  requests_[request->slot] = requests_.back();
  requests_[request->slot]->slot = request->slot;
  requests_.pop_back();
}

void ReplicaState::ConsumeBacklog(int64_t steps, Instant newest) {
  // What first tokens have proven was computed in these steps too.
  consumed_ = std::exchange(proven_, 0);
  double proven = consumed_;
  double taken_now = 0;
  const double per_step = std::max(1.0, spec_.batch_budget.AsDouble() - decoding_);
  const Instant start = last_step_end_.value_or(newest);
  const double step_length = (newest - start).seconds() / static_cast<double>(std::max<int64_t>(1, steps));
  for (int64_t step = 0; step < steps; ++step) {
    // Only what had reached the engine when the step began is computed in it.
    const Instant began = start + Duration::Seconds(step_length * static_cast<double>(step));
    double room = std::max(0.0, per_step - proven);
    proven -= per_step - room;
    const double free = room;
    for (RequestState* request : prefilling_) {
      if (room <= 0 || request->dispatched > began) break;
      const double taken = std::min(room, request->prefill_left.AsDouble());
      request->prefill_left -= Tokens(static_cast<int64_t>(taken));
      room -= taken;
    }
    taken_now += free - room;
    if (room >= per_step) break;
  }
  consumed_ += taken_now;
  backlog_ = std::max(0.0, backlog_ - taken_now);
}

void ReplicaState::Advance(int64_t steps, Instant newest, int busy_neighbours) {
  if (steps <= 0) return;
  ConsumeBacklog(steps, newest);
  if (learns_steps && last_step_end_ && newest > *last_step_end_ && decoding_ > 0) {
    model_.Observe((newest - *last_step_end_).seconds(), static_cast<double>(steps), decoding_, kv_tokens_, consumed_,
                   busy_neighbours);
  }
  if (last_step_end_ && newest > *last_step_end_ && decoding_ > 0) {
    const double step = (newest - *last_step_end_).seconds() / static_cast<double>(steps);
    const double weight = std::pow(1 - 1 / kExcessMemorySteps, static_cast<double>(steps));
    excess_ = weight * excess_ + (1 - weight) * (step - DecodeStep(busy_neighbours));
  }
  step_count_ += steps;
  kv_tokens_ += static_cast<double>(steps) * decoding_;
  last_step_end_ = newest;
  // The step that made a first token is among those just counted.
  for (RequestState* request : fresh_) Correct(request, std::max<int64_t>(1, Generated(*request) - 1));
  fresh_.clear();
}

double ReplicaState::Remainder(Instant now, double at_least, int busy_neighbours) const {
  if (!last_step_end_ || !busy()) return at_least;
  const double prefill = std::min(backlog_, std::max(0.0, spec_.batch_budget.AsDouble() - decoding_));
  const double step = DecodeStep(busy_neighbours) + model_.PrefillToken(busy_neighbours) * prefill;
  return std::max(at_least, step - (now - *last_step_end_).seconds());
}

double ReplicaState::TokensPerSecond(int busy_neighbours) const {
  const double decode = model_.DecodeStep(std::max(1.0, decoding_), kv_tokens_, busy_neighbours);
  return 1 / std::max({1e-6, decode / 2, decode + excess_});
}

Instant ReplicaState::NextDue(ClassId service_class, const ClassSpec& goals, Instant now) const {
  const DueSet& due = due_[service_class.value()];
  const int64_t shift = step_count_ * goals.tpot.nanoseconds();
  const auto first = due.lower_bound({now.nanoseconds() - shift, 0});
  return first == due.end() ? Instant::Never() : Instant::FromNanoseconds(first->first + shift);
}

}  // namespace penstock
