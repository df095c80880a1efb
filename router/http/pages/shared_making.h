// Makes a value on one loop for everybody who asks, so that a question holds no loop of clients.
//
// Askers that wait together share one value. The values take a quarter of the loop's time at most, however many
// questions come. Thread-safe; lives longer than its askers.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_SHARED_MAKING_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_SHARED_MAKING_H_

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/socket/loop_turns.h"
#include "base/clock.h"
#include "router/live/event_loop.h"

namespace penstock {

template <class Value>
class SharedMaking {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // `make` runs on the loop `maker`.
  SharedMaking(EventLoop& maker, std::function<Pointer()> make)
      : maker_(maker), make_(std::move(make)), pause_(maker.io()) {}

  // Any thread. Calls `done` on the loop `maker`, with a value from after this call. Never, once that loop has stopped.
  void Ask(std::function<void(Pointer)> done) {
    {
      std::lock_guard lock(mutex_);
      askers_.push_back(std::move(done));
      if (askers_.size() > 1) return;  // The first one has ordered the value.
    }
    boost::asio::post(maker_.io(), [this] { Begin(); });
  }

 private:
  // The loop rests from values for so many times as long as one took.
  static constexpr int64_t kRest = 3;

  // On the loop that makes the value: now, or after a pause.
  void Begin() {
    const Instant now = Now();
    if (now >= next_) return Make();
    pause_.expires_after(ToChrono(next_ - now));
    pause_.async_wait([this](const boost::system::error_code& ec) {
      if (!ec) Make();
    });
  }

  void Make() {
    const LoopTurns::Scope scope(LoopTurns::Of(maker_.io()));
    std::vector<std::function<void(Pointer)>> askers;
    {
      std::lock_guard lock(mutex_);
      askers.swap(askers_);
    }
    const Instant begun = Now();
    const Pointer value = make_();
    const Instant made = Now();
    next_ = made + (made - begun) * kRest;
    for (const auto& done : askers) done(value);
  }

  EventLoop& maker_;
  const std::function<Pointer()> make_;
  boost::asio::steady_timer pause_;  // That loop's, like `next_`.
  Instant next_;
  std::mutex mutex_;  // Guards everything below.
  std::vector<std::function<void(Pointer)>> askers_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_SHARED_MAKING_H_
