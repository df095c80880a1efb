#include "backends/socket/deadline.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
using Timer = boost::asio::steady_timer::rebind_executor<boost::asio::io_context::executor_type>::other;

}  // namespace

struct Deadline::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& loop, absl::AnyInvocable<void()> then)
      : timer(loop.get_executor()), on_expiry(std::move(then)) {}

  void Start() {
    waiting = true;
    armed_for = point;
    timer.expires_at(armed_for);
    timer.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      if (auto state = self.lock()) state->OnTimer(error);
    });
  }

  void OnTimer(const boost::system::error_code& error) {
    if (error) return;  // An earlier wait has replaced this one.
    waiting = false;
    if (point == Clock::time_point::max()) return;
    if (Clock::now() < point) return Start();
    expired = true;
    on_expiry();
  }

  Timer timer;
  absl::AnyInvocable<void()> on_expiry;
  Clock::time_point point = Clock::time_point::max();
  Clock::time_point armed_for;
  bool waiting = false;
  bool expired = false;
};

Deadline::Deadline(boost::asio::io_context& loop, absl::AnyInvocable<void()> on_expiry)
    : state_(std::make_shared<State>(loop, std::move(on_expiry))) {}

Deadline::~Deadline() = default;

void Deadline::Arm(Duration timeout) {
  State& state = *state_;
  state.expired = false;
  if (timeout >= Duration::Infinite()) return Disarm();
  state.point = Clock::now() + ToChrono(std::max(Duration(), timeout));
  if (!state.waiting || state.armed_for > state.point) state.Start();
}

void Deadline::Disarm() { state_->point = Clock::time_point::max(); }

bool Deadline::expired() const { return state_->expired; }

}  // namespace penstock
