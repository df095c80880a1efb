#include "router/core/queue/class_queue.h"

namespace penstock {

void ClassQueue::Insert(RequestState* request) {
  if (request->waiting.parked || request->waiting.best_effort) {
    (request->waiting.parked ? parked : best_effort).insert(request);
  } else {
    waiting.Insert(request);
  }
  arrivals.insert(request);
}

void ClassQueue::Erase(RequestState* request) {
  arrivals.erase(request);
  if (request->waiting.parked || request->waiting.best_effort) {
    (request->waiting.parked ? parked : best_effort).erase(request);
  } else {
    waiting.Erase(request);
  }
}

RequestState* ClassQueue::Starved(Instant now) const {
  if (waiting.empty()) return nullptr;
  RequestState* oldest = *arrivals.begin();
  if (oldest->waiting.parked || oldest->waiting.best_effort) oldest = waiting.First();
  return now - oldest->waiting.since >= promote_after ? oldest : nullptr;
}

}  // namespace penstock
