#include "backends/socket/deadline.h"

#include <algorithm>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <set>
#include <utility>

#include "base/clock.h"

namespace penstock {

// The pending deadlines of a loop, a service of its io_context. One timer waits for the first of them.
class DeadlineQueue final : public boost::asio::execution_context::service {
 public:
  using key_type = DeadlineQueue;  // NOLINT(readability-identifier-naming): Asio wants this name.
  using Clock = std::chrono::steady_clock;
  static boost::asio::execution_context::id id;  // NOLINT(readability-identifier-naming)

  explicit DeadlineQueue(boost::asio::io_context& loop)
      : boost::asio::execution_context::service(loop), timer_(loop.get_executor()) {}

  void Enter(Deadline::State& state, Clock::time_point at);
  void Leave(Deadline::State& state);

 private:
  using Timer = boost::asio::steady_timer::rebind_executor<boost::asio::io_context::executor_type>::other;

  void shutdown() noexcept override {}
  void Wait();
  void OnTimer();

  Timer timer_;
  Clock::time_point waits_for_ = Clock::time_point::max();  // Never: the timer does not wait.
  std::set<std::pair<Clock::time_point, Deadline::State*>> pending_;
};

struct Deadline::State {
  using Clock = DeadlineQueue::Clock;

  State(boost::asio::io_context& loop, absl::AnyInvocable<void()> then)
      : queue(boost::asio::use_service<DeadlineQueue>(loop)), on_expiry(std::move(then)) {}
  ~State() { queue.Leave(*this); }

  bool waiting() const { return looked_at != Clock::time_point::max(); }
  // The queue came to it, and it waits no more.
  void OnTime(Clock::time_point now) {
    if (point == Clock::time_point::max()) return;
    if (now < point) return queue.Enter(*this, point);
    expired = true;
    on_expiry();
  }

  DeadlineQueue& queue;
  absl::AnyInvocable<void()> on_expiry;
  Clock::time_point point = Clock::time_point::max();      // Never: disarmed.
  Clock::time_point looked_at = Clock::time_point::max();  // Its place in the queue; never: it has none.
  bool expired = false;
};

boost::asio::execution_context::id DeadlineQueue::id;

void DeadlineQueue::Enter(Deadline::State& state, Clock::time_point at) {
  Leave(state);
  state.looked_at = at;
  pending_.emplace(at, &state);
  if (at < waits_for_) Wait();
}

// The loop may end only when nothing is left to wait for.
void DeadlineQueue::Leave(Deadline::State& state) {
  if (!state.waiting()) return;
  pending_.erase({std::exchange(state.looked_at, Clock::time_point::max()), &state});
  if (!pending_.empty()) return;
  waits_for_ = Clock::time_point::max();
  timer_.cancel();
}

void DeadlineQueue::Wait() {
  waits_for_ = pending_.begin()->first;
  timer_.expires_at(waits_for_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) OnTimer();
  });
}

// Any deadline may be armed or destroyed by one that expires.
void DeadlineQueue::OnTimer() {
  const Clock::time_point now = Clock::now();
  waits_for_ = Clock::time_point::max();
  while (!pending_.empty() && pending_.begin()->first <= now) {
    Deadline::State& first = *pending_.begin()->second;
    pending_.erase(pending_.begin());
    first.looked_at = Clock::time_point::max();
    first.OnTime(now);
  }
  if (!pending_.empty() && waits_for_ == Clock::time_point::max()) Wait();
}

Deadline::Deadline(boost::asio::io_context& loop, absl::AnyInvocable<void()> on_expiry)
    : state_(std::make_unique<State>(loop, std::move(on_expiry))) {}

Deadline::~Deadline() = default;

void Deadline::Arm(Duration timeout) {
  State& state = *state_;
  state.expired = false;
  if (timeout >= Duration::Infinite()) return Disarm();
  state.point = State::Clock::now() + ToChrono(std::max(Duration(), timeout));
  if (!state.waiting() || state.looked_at > state.point) state.queue.Enter(state, state.point);
}

void Deadline::Disarm() { state_->point = State::Clock::time_point::max(); }

bool Deadline::expired() const { return state_->expired; }

}  // namespace penstock
