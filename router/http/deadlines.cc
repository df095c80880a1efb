#include "router/http/deadlines.h"

#include <utility>

#include "router/http/clock.h"

namespace penstock {

void DeadlineList::Start() {
  timer_.expires_after(ToChrono(kTick));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec || stopped_) return;
    Tick();
    Start();
  });
}

void DeadlineList::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void DeadlineList::Tick() {
  const Instant now = Now();
  next_ = deadlines_.begin();
  while (next_ != deadlines_.end()) {
    Deadline* deadline = *next_;
    ++next_;
    if (deadline->at_ > now) continue;
    deadline->at_ = Instant::Never();
    deadline->on_expire_();
  }
}

Deadline::Deadline(DeadlineList& list, std::function<void()> on_expire)
    : list_(list), on_expire_(std::move(on_expire)) {
  position_ = list_.deadlines_.insert(list_.deadlines_.end(), this);
}

Deadline::~Deadline() {
  if (list_.next_ == position_) ++list_.next_;
  list_.deadlines_.erase(position_);
}

void Deadline::Arm(Duration after) { at_ = Now() + after; }

}  // namespace penstock
