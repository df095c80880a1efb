#include "router/core/admission/reserver.h"

#include <algorithm>

namespace penstock {
namespace {

// A request starves after this, whatever its size and its class.
constexpr Duration kStarving = Duration::Seconds(10);
// The patience of a request is this part of its time. A request of any size gets a reservation after that. A reserved
// one lets those of a higher class, and those of its size, pass until then. After it, room by the mean is enough.
constexpr double kPatience = 0.5;
// The share of all requests that may be refused for lateness while memory is reserved for one with a deadline. The
// second holds for one that needs no large part of a pool: with the first, chat near the knee lost 0.2 % of its
// requests. Without a reservation, prompts of a sixth of a pool were never served (bench/kinds.sh).
constexpr double kMostRefused = 0.05;
constexpr double kMostRefusedForSmall = 0.01;
// Memory is reserved from this part of the request's remaining time on. The memory test has a margin over the mean by
// which room is found, and streams end by chance. With half of the time, mixture.yaml lost 1.4 % of its large prompts.
constexpr double kAim = 0.25;
// Room that the mean expects after this multiple of the remaining time comes too late. Less gives up those that arrive
// behind a burst, while others go on to pass them.
constexpr double kHope = 1.5;
// Between two searches for the same request.
constexpr Duration kPause = Duration::Milliseconds(100);
// Between two searches at all: an event pays for one, however many requests are blocked.
constexpr Duration kBetweenSearches = Duration::Milliseconds(2);
// Replicas on which room is looked for, the emptiest first: each costs some microseconds.
constexpr size_t kSearched = 4;

}  // namespace

bool Reserver::Deserves(const RequestState& request, Instant now) const {
  const bool deadline = rooms_.fleet.GoalsOf(request).refuse_late && !request.waiting.best_effort;
  const bool large = rooms_.servers.IsLarge(request);
  const double most = large ? kMostRefused : kMostRefusedForSmall;
  if (deadline && rooms_.order->RefusedShare(request.arrived.model) > most) return false;
  return large || now > AfterPart(deadline ? kPatience : 1, request, now);
}

Instant Reserver::AfterPart(double part, const RequestState& request, Instant now) const {
  const Duration time = std::min(kStarving, rooms_.lateness.LastChance(request, now) - request.arrival);
  return request.arrival + Duration::Seconds(part * time.seconds());
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
    rooms_.reservations.End(request, now);
  if (waiting.reservation.replica) waiting.reservation.by_mean = now >= AfterPart(kPatience, *request, now);
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
    rooms_.reservations.Reserve(request, room->replica, room->at, AfterPart(kPatience, *request, now));
  }
}

}  // namespace penstock
