#include "router/core/queue/class_queue.h"

#include <cmath>

namespace penstock {
namespace {

// Tokens that a class may save beyond its head's prompt, about one step budget. A class whose head was blocked for an
// hour so does not go first for minutes. Untuned.
constexpr double kCreditBeyondHead = 2048;
// A burst is shorter, a lasting load longer. On bench/scenarios/jobs.yaml, 20 s are as good.
constexpr double kDebtSeconds = 10;
// Arrivals that are looked at for one that is neither parked nor best effort.
constexpr int64_t kMostLookedAt = 200;

}  // namespace

void ClassQueue::Fade(Instant now) {
  if (credit < 0) credit *= std::exp(-(now - faded).seconds() / kDebtSeconds);
  faded = now;
}

void ClassQueue::Earn(double tokens, Instant now) {
  Fade(now);
  credit = std::min(credit + tokens, Head()->Prompt().AsDouble() + kCreditBeyondHead);
}

void ClassQueue::Pay(double tokens, Instant now) {
  Fade(now);
  credit -= tokens;
  if (!evictable) credit = std::max(0.0, credit);
}

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
  RequestState* oldest = waiting.First();
  int64_t looked_at = 0;
  for (RequestState* request : arrivals) {
    if (++looked_at > kMostLookedAt) break;
    if (request->waiting.parked || request->waiting.best_effort) continue;
    oldest = request;
    break;
  }
  return now - oldest->waiting.since >= promote_after ? oldest : nullptr;
}

}  // namespace penstock
