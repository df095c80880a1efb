// Measures the turns of a loop: two reads of the clock per turn, none per event or socket.
//
// Asio tells nobody when a turn begins, so the handlers that do the work of a loop open a Scope. These are the events
// of all sockets (ReadinessSet), the ticks of deadlines, posted slices of long work, and the orders of the core. A
// service of its io_context. Belongs to the loop's thread; its meter may be read by others.
#ifndef PENSTOCK_BACKENDS_SOCKET_LOOP_TURNS_H_
#define PENSTOCK_BACKENDS_SOCKET_LOOP_TURNS_H_

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/turn_meter.h"

namespace penstock {

class LoopTurns final : public boost::asio::execution_context::service {
 public:
  using key_type = LoopTurns;  // NOLINT(readability-identifier-naming): Asio wants this name.

  explicit LoopTurns(boost::asio::io_context& loop) : boost::asio::execution_context::service(loop) {}
  // Any thread. Made by the first call.
  static LoopTurns& Of(boost::asio::io_context& loop) { return boost::asio::use_service<LoopTurns>(loop); }

  const TurnMeter& meter() const { return meter_; }

  // A turn, or a part of the one that is under way.
  class Scope {
   public:
    explicit Scope(LoopTurns& turns) : turns_(turns) {
      if (turns_.open_++ == 0) began_ = Now();
    }
    ~Scope() {
      if (--turns_.open_ == 0) turns_.meter_.Record(began_, Now());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    LoopTurns& turns_;
    Instant began_;
  };

  static boost::asio::execution_context::id id;  // NOLINT(readability-identifier-naming)

 private:
  void shutdown() noexcept override {}

  TurnMeter meter_;
  int open_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_LOOP_TURNS_H_
