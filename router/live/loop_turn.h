// The part of its loop that one connection may use before it lets the others run.
//
// A step is a request served or a piece of input read without a wait between. After some steps, or half a millisecond,
// the owner awaits LetOthersRun(). Without it, a peer that sends faster than the router reads would keep the loop.
#ifndef PENSTOCK_ROUTER_LIVE_LOOP_TURN_H_
#define PENSTOCK_ROUTER_LIVE_LOOP_TURN_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "backends/socket/loop_turns.h"
#include "base/units.h"

namespace penstock {

class LoopTurn {
 public:
  static constexpr int kSteps = 8;
  static constexpr Duration kLongest = Duration::Microseconds(500);

  // The owner waited for an event, or let others run.
  void Restart(Instant now) {
    began_ = now;
    steps_ = 0;
  }
  // Counts one step. True: the turn is over.
  bool Step(Instant now) { return ++steps_ >= kSteps || now - began_ >= kLongest; }

 private:
  Instant began_;
  int steps_ = 0;
};

// Goes to the end of the loop's queue. The caller goes on in a turn of its own.
inline boost::asio::awaitable<void> LetOthersRun(boost::asio::io_context& loop) {
  LoopTurns& turns = LoopTurns::Of(loop);
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
      [&loop, &turns](auto resume) {
        boost::asio::post(loop, [&turns, resume = std::move(resume)]() mutable {
          const LoopTurns::Scope scope(turns);
          std::move(resume)();
        });
      },
      boost::asio::use_awaitable);
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_LOOP_TURN_H_
