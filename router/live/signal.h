// Wakes one waiting coroutine of the same loop. A notification without a waiter stays for the next wait, so none is
// lost; a waiter checks its condition again after each wake-up. Not thread-safe; costs no timer.
#ifndef PENSTOCK_ROUTER_LIVE_SIGNAL_H_
#define PENSTOCK_ROUTER_LIVE_SIGNAL_H_

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace penstock {

class Signal {
 public:
  explicit Signal(boost::asio::io_context& loop) : loop_(loop) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void Notify() {
    if (waiter_ == nullptr) {
      pending_ = true;
      return;
    }
    boost::asio::post(loop_, std::exchange(waiter_, nullptr));
  }

  // The same from a callback of the loop that has nothing left to do: the coroutine goes on at once.
  void Resume() {
    if (waiter_ == nullptr) {
      pending_ = true;
    } else {
      std::exchange(waiter_, nullptr)();
    }
  }

  // At most one coroutine waits at a time.
  boost::asio::awaitable<void> Wait() {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        [this](auto handler) {
          waiter_ = std::move(handler);
          if (std::exchange(pending_, false)) Notify();
        },
        boost::asio::use_awaitable);
  }

 private:
  boost::asio::io_context& loop_;
  absl::AnyInvocable<void()> waiter_;
  bool pending_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_SIGNAL_H_
