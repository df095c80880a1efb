#include "router/core/books/prefill_backlog.h"

#include <algorithm>
#include <utility>

namespace penstock {

void PrefillBacklog::Add(RequestState* request) {
  requests_.push_back(request);
  tokens_ += request->running.prefill_left;
}

void PrefillBacklog::Prove(RequestState* request) {
  // Prompts are computed in order.
  for (RequestState* earlier : requests_) {
    Tokens& left = earlier->running.prefill_left;
    tokens_ -= left;
    proven_ += left;
    left = Tokens(0);
    if (earlier == request) break;
  }
  requests_.erase(std::find(requests_.begin(), requests_.end(), request));
}

void PrefillBacklog::Remove(RequestState* request) {
  tokens_ -= request->running.prefill_left;
  requests_.erase(std::find(requests_.begin(), requests_.end(), request));
}

Tokens PrefillBacklog::Compute(int64_t steps, Instant start, Instant newest, Tokens per_step) {
  // First tokens were made in these steps too, so the proven prefill takes its part of their room.
  const Tokens consumed = std::exchange(proven_, Tokens(0));
  Tokens proven = consumed;
  Tokens taken{0};
  const double step_length = (newest - start).seconds() / static_cast<double>(std::max<int64_t>(1, steps));
  for (int64_t step = 0; step < steps; ++step) {
    // A step computes only prompts that had reached the engine when the step began.
    const Instant began = start + Duration::Seconds(step_length * static_cast<double>(step));
    Tokens room = std::max(Tokens(0), per_step - proven);
    proven -= per_step - room;
    for (RequestState* request : requests_) {
      if (room <= Tokens(0) || request->running.dispatched > began) break;
      const Tokens here = std::min(room, request->running.prefill_left);
      request->running.prefill_left -= here;
      room -= here;
      taken += here;
    }
    if (room >= per_step) break;
  }
  tokens_ -= taken;
  return consumed + taken;
}

bool PrefillBacklog::SumHolds() const {
  Tokens sum{0};
  for (const RequestState* request : requests_) sum += request->running.prefill_left;
  return sum == tokens_;
}

}  // namespace penstock
