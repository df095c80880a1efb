#include "router/live/deadlines.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace penstock {

void DeadlineLink::Unlink() {
  next->previous = previous;
  previous->next = next;
  next = previous = this;
}

void DeadlineLink::LinkBefore(DeadlineLink& other) {
  previous = other.previous;
  next = &other;
  previous->next = next->previous = this;
}

DeadlineList::DeadlineList(boost::asio::io_context& loop)
    : turns_(LoopTurns::Of(loop)), timer_(loop), looked_at_(TickOf(Now()) - 1) {}

void DeadlineList::Start() {
  const int64_t next = Now().nanoseconds() / kTick.nanoseconds() + 1;
  timer_.expires_at(ToTimePoint(Instant::FromNanoseconds(next * kTick.nanoseconds())));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || stopped_) return;
    const LoopTurns::Scope scope(turns_);
    Tick();
    Start();
  });
}

void DeadlineList::Stop() {
  stopped_ = true;
  timer_.cancel();
}

int64_t DeadlineList::TickOf(Instant at) { return (at.nanoseconds() + kTick.nanoseconds() - 1) / kTick.nanoseconds(); }

void DeadlineList::Tick() {
  const Instant now = Now();
  const int64_t reached = now.nanoseconds() / kTick.nanoseconds();
  // After a long pause every slot once is enough.
  looked_at_ = std::max(looked_at_, reached - kSlots);
  while (looked_at_ < reached) {
    DeadlineLink& slot = slots_[++looked_at_ % kSlots];
    // Moved aside, as what fires may put itself back into the slot.
    DeadlineLink due;
    due.LinkBefore(slot);
    slot.Unlink();
    while (!due.alone()) {
      auto& deadline = static_cast<CoarseDeadline&>(*due.next);
      deadline.Unlink();
      if (deadline.at_ == Instant::Never()) continue;
      if (deadline.at_ > now) {
        deadline.Place(now);
        continue;
      }
      deadline.at_ = Instant::Never();
      deadline.on_expire_();
    }
  }
}

CoarseDeadline::CoarseDeadline(DeadlineList& list, std::function<void()> on_expire)
    : list_(list), on_expire_(std::move(on_expire)) {}

CoarseDeadline::~CoarseDeadline() { Unlink(); }

void CoarseDeadline::Arm(Duration after) { Arm(after, Now()); }

// At least one tick and at most one round ahead.
void CoarseDeadline::Place(Instant now) {
  Unlink();
  const int64_t first = std::max(list_.looked_at_, now.nanoseconds() / DeadlineList::kTick.nanoseconds()) + 1;
  const int64_t tick = std::clamp(DeadlineList::TickOf(at_), first, first + DeadlineList::kSlots - 2);
  look_at_ = Instant::FromNanoseconds(tick * DeadlineList::kTick.nanoseconds());
  LinkBefore(list_.slots_[static_cast<size_t>(tick % DeadlineList::kSlots)]);
}

}  // namespace penstock
