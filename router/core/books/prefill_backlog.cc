#include "router/core/books/prefill_backlog.h"

#include <algorithm>
#include <utility>

namespace penstock {

void PrefillBacklog::Add(RequestState* request) {
  requests_.push_back(request);
  work_ += request->PrefillLeft();
  guesses_ += request->running.hope.guessed() ? 1 : 0;
}

PrefillWork PrefillBacklog::Next(Tokens room) const {
  if (room >= work_.tokens) return work_;
  PrefillWork next;
  for (const RequestState* request : requests_) {
    if (next.tokens >= room) break;
    next += request->NextPrefill(std::min(room - next.tokens, request->running.prefill_left));
  }
  return next;
}

void PrefillBacklog::Prove(RequestState* request) {
  // Prompts are computed in order.
  for (RequestState* earlier : requests_) {
    const PrefillWork left = earlier->PrefillLeft();
    work_ -= left;
    proven_ += left;
    earlier->running.prefill_left = Tokens(0);
    earlier->running.load_left = Duration();
    if (earlier == request) break;
  }
  proven_guess_ = proven_guess_ || request->running.hope.guessed();
  Erase(request);
}

void PrefillBacklog::Erase(RequestState* request) {
  guesses_ -= request->running.hope.guessed() ? 1 : 0;
  requests_.erase(std::find(requests_.begin(), requests_.end(), request));
}

void PrefillBacklog::Remove(RequestState* request) {
  work_ -= request->PrefillLeft();
  Erase(request);
}

bool PrefillBacklog::AnyOverdue(Instant start) const {
  return std::any_of(requests_.begin(), requests_.end(), [start](const RequestState* request) {
    return request->running.prefill_left == Tokens(0) && request->running.dispatched < start;
  });
}

PrefillWork PrefillBacklog::Compute(int64_t steps, Instant start, Instant newest, Tokens per_step) {
  // First tokens were made in these steps too, so the proven prefill takes its part of their room.
  const PrefillWork consumed = std::exchange(proven_, PrefillWork());
  doubtful_ = std::exchange(proven_guess_, false) || guesses_ > 0 || AnyOverdue(start);
  Tokens proven = consumed.tokens;
  PrefillWork taken;
  const double step_length = (newest - start).seconds() / static_cast<double>(std::max<int64_t>(1, steps));
  for (int64_t step = 0; step < steps; ++step) {
    // A step computes only prompts that had reached the engine when the step began.
    const Instant began = start + Duration::Seconds(step_length * static_cast<double>(step));
    Tokens room = std::max(Tokens(0), per_step - proven);
    proven -= per_step - room;
    for (RequestState* request : requests_) {
      if (room <= Tokens(0) || request->running.dispatched > began) break;
      const Tokens here = std::min(room, request->running.prefill_left);
      taken += request->NextPrefill(here);
      request->running.prefill_left -= here;
      if (here > Tokens(0)) request->running.load_left = Duration();
      room -= here;
    }
    if (room >= per_step) break;
  }
  work_ -= taken;
  return consumed + taken;
}

bool PrefillBacklog::SumHolds() const {
  PrefillWork sum;
  int64_t guesses = 0;
  for (const RequestState* request : requests_) {
    sum += request->PrefillLeft();
    guesses += request->running.hope.guessed() ? 1 : 0;
  }
  return sum == work_ && guesses == guesses_;
}

}  // namespace penstock
