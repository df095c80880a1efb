#include "router/core/admission/reserver.h"

#include <algorithm>

namespace penstock {
namespace {

// A request whose wait no deadline will end gets a reservation after this, whatever its size.
constexpr Duration kStarving = Duration::Seconds(10);
// The share of all requests that may be refused for lateness while memory is reserved for one with a deadline.
constexpr double kMostRefused = 0.05;
// Memory is reserved from this part of the request's remaining time on. The memory test has a margin over the mean by
// which room is found, and streams end by chance. With half of the time, mixture.yaml lost 1.4 % of its large prompts.
constexpr double kAim = 0.25;
// Room that the mean expects after this multiple of the remaining time comes too late. Less gives up those that arrive
// behind a burst, while others go on to pass them.
constexpr double kHope = 1.5;
// Before the last chance of a reserved request, in TTFT goals: room by the mean is enough then, because it would be
// refused. The guard "first_token" takes a third of that time.
constexpr double kByMean = 0.1;
// Between two searches for the same request.
constexpr Duration kPause = Duration::Milliseconds(100);
// Between two searches at all: an event pays for one, however many requests are blocked.
constexpr Duration kBetweenSearches = Duration::Milliseconds(2);
// Replicas on which room is looked for, the emptiest first: each costs some microseconds.
constexpr size_t kSearched = 4;

}  // namespace

bool Reserver::Deserves(const RequestState& request, Instant now) const {
  const bool deadline = rooms_.fleet.GoalsOf(request).refuse_late && !request.waiting.best_effort;
  if (deadline && rooms_.order->RefusedShare(request.arrived.model) > kMostRefused) return false;
  return rooms_.servers.IsLarge(request) || (!deadline && now - request.arrival > kStarving);
}

Instant Reserver::RoomOf(const RequestState& request, const ReplicaState& replica, Instant now) const {
  const std::optional<Duration> until = rooms_.memory.TimeToRoom(request, replica, now);
  // A request that fits into an empty pool only has the pool drained for it in the end.
  return until ? now + *until : std::max(now, request.arrival + kStarving);
}

std::optional<Reserver::Room> Reserver::FindRoom(const RequestState& request, Instant now) {
  const Tokens needed = rooms_.servers.LengthNeeded(request);
  by_fullness_.clear();
  for (const size_t index : rooms_.servers.Of(request.arrived.model)) {
    if (!request.MayUse(index)) continue;
    const ReplicaState& replica = rooms_.fleet.replicas()[index];
    if (!replica.Placeable() || needed > rooms_.servers.Longest(index) || request.waiting.Avoids(index)) continue;
    if (rooms_.reservations.Free(replica)) by_fullness_.push_back({rooms_.servers.brief(index).fullness, index});
  }
  const size_t searched = std::min(kSearched, by_fullness_.size());
  std::partial_sort(by_fullness_.begin(), by_fullness_.begin() + static_cast<std::ptrdiff_t>(searched),
                    by_fullness_.end());
  std::optional<Room> best;
  for (size_t i = 0; i < searched; ++i) {
    const size_t index = by_fullness_[i].second;
    const Instant at = RoomOf(request, rooms_.fleet.replicas()[index], now);
    if (!best || at < best->at) best = Room{ReplicaId(static_cast<uint32_t>(index)), at};
  }
  if (!best) return std::nullopt;
  const double left = (rooms_.lateness.LastChance(request, now) - now).seconds();
  if ((best->at - now).seconds() > kHope * left) return std::nullopt;
  best->at = std::min(best->at, now + Duration::Seconds(kAim * left));
  return best;
}

void Reserver::OnBlocked(RequestState* request, Instant now) {
  WaitState& waiting = request->waiting;
  if (waiting.reservation.replica && !rooms_.fleet.replica(*waiting.reservation.replica).Placeable())
    rooms_.reservations.End(request);
  if (waiting.reservation.replica) {
    const Duration soon = Duration::Seconds(kByMean * rooms_.fleet.GoalsOf(*request).ttft.seconds());
    waiting.reservation.by_mean = rooms_.lateness.LastChance(*request, now) - now <= soon;
  }
  if (waiting.reason != WaitReason::kMemory || now < std::max(waiting.reservation.next, next_search_)) return;
  waiting.reservation.next = now + kPause;
  next_search_ = now + kBetweenSearches;
  if (waiting.reservation.replica) {
    // Streams end by chance: a reservation lasts as long as the request may wait.
    const ReplicaState& replica = rooms_.fleet.replica(*waiting.reservation.replica);
    return rooms_.reservations.BringForward(*request, RoomOf(*request, replica, now));
  }
  if (rooms_.reservations.most() == 0 || !Deserves(*request, now)) return;
  rooms_.reservations.Of(request->arrived.model, reserved_);
  if (reserved_.size() >= rooms_.reservations.most()) return;
  if (const std::optional<Room> room = FindRoom(*request, now)) {
    rooms_.reservations.Reserve(request, room->replica, room->at);
  }
}

}  // namespace penstock
