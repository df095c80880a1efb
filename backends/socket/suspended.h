// One coroutine of a loop that waits for a call. Its owner resumes it from a callback of the loop, or destroys it.
//
// Not thread-safe. The suspended coroutine usually owns this object, so an owner that loses its loop calls Destroy().
#ifndef PENSTOCK_BACKENDS_SOCKET_SUSPENDED_H_
#define PENSTOCK_BACKENDS_SOCKET_SUSPENDED_H_

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace penstock {

class Suspended {
 public:
  bool waiting() const { return resume_ != nullptr; }

  // Suspends the caller until Resume(). `begin` runs once it is suspended. `cancel` runs when the coroutine is
  // cancelled. A later task of the loop then calls Resume(); neither function calls it itself. One caller at a time.
  template <class Begin, class Cancel>
  boost::asio::awaitable<void> Wait(Begin begin, Cancel cancel) {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        [this, begin = std::move(begin), cancel = std::move(cancel)](auto handler) {
          slot_ = boost::asio::get_associated_cancellation_slot(handler);
          if (slot_.is_connected()) slot_.assign([cancel](boost::asio::cancellation_type) { cancel(); });
          resume_ = std::move(handler);
          begin();
        },
        boost::asio::use_awaitable);
  }

  // The coroutine goes on within the call, which may destroy this object. Does nothing when no coroutine waits.
  void Resume() {
    if (resume_ == nullptr) return;
    if (slot_.is_connected()) slot_.clear();
    std::exchange(resume_, nullptr)();
  }

  // Destroys the coroutine, and this object with it if the coroutine owns it.
  void Destroy() { const absl::AnyInvocable<void()> gone = std::move(resume_); }

 private:
  boost::asio::cancellation_slot slot_;
  absl::AnyInvocable<void()> resume_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_SUSPENDED_H_
