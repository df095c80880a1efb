// Coroutines of one loop that can be cut at their waits, such as a poll of an engine that never answers.
//
// A cut ends the wait under way as Cancelled. The next wait throws operation_aborted, so a cut coroutine has at most
// one turn left, and cleans up on the way out. Belongs to the loop; the coroutines may outlive it. Cost: one allocation
// for each coroutine.
#ifndef PENSTOCK_BACKENDS_SOCKET_CUT_OFF_H_
#define PENSTOCK_BACKENDS_SOCKET_CUT_OFF_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace penstock {

class CutOff {
 public:
  // Runs `work` on its own. Its exceptions end it.
  void Spawn(boost::asio::io_context& loop, boost::asio::awaitable<void> work) {
    std::erase_if(signals_, [](const auto& signal) { return signal.expired(); });
    const auto signal = std::make_shared<boost::asio::cancellation_signal>();
    signals_.push_back(signal);
    boost::asio::co_spawn(loop, std::move(work),
                          boost::asio::bind_cancellation_slot(signal->slot(), [signal](const std::exception_ptr&) {}));
  }

  // Cuts all that still run, for good. They go on from a later task of the loop.
  void Cut() {
    cut_ = true;
    for (const auto& weak : std::exchange(signals_, {})) {
      if (const auto signal = weak.lock()) signal->emit(boost::asio::cancellation_type::terminal);
    }
  }
  bool cut() const { return cut_; }

 private:
  bool cut_ = false;
  std::vector<std::weak_ptr<boost::asio::cancellation_signal>> signals_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_CUT_OFF_H_
