// Coarse deadlines of one loop: arming one is a store, one timer per loop looks at those that may be due.
//
// A deadline fires up to one tick late, never early. Meant for the limits of many waits (writes, heads, keep-alives),
// of which nearly none ever passes. One that is armed anew before it is due stays where it was put the first time. It
// is looked at and put later when that time has come. So ten thousand streams cost a tick only the few whose turn it
// is. Belongs to one loop; a CoarseDeadline unregisters itself when it is destroyed.
#ifndef PENSTOCK_ROUTER_LIVE_DEADLINES_H_
#define PENSTOCK_ROUTER_LIVE_DEADLINES_H_

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "backends/socket/loop_turns.h"
#include "base/units.h"

namespace penstock {

// A place in a ring of its likes; alone, a ring of one.
struct DeadlineLink {
  DeadlineLink* next = this;
  DeadlineLink* previous = this;
  DeadlineLink() = default;
  DeadlineLink(const DeadlineLink&) = delete;
  DeadlineLink& operator=(const DeadlineLink&) = delete;
  bool alone() const { return next == this; }
  void Unlink();
  void LinkBefore(DeadlineLink& other);
};

class DeadlineList {
 public:
  static constexpr Duration kTick = Duration::Milliseconds(25);

  explicit DeadlineList(boost::asio::io_context& loop);
  void Start();
  void Stop();

 private:
  friend class CoarseDeadline;
  // Ticks looked ahead, 1.6 s; what is due later is looked at once in that time.
  static constexpr int64_t kSlots = 64;

  void Tick();
  // Number of the first tick at or after the instant.
  static int64_t TickOf(Instant at);

  LoopTurns& turns_;
  boost::asio::steady_timer timer_;
  std::array<DeadlineLink, kSlots> slots_;  // Slot of a tick: its number modulo kSlots.
  int64_t looked_at_;                       // Number of the last tick.
  bool stopped_ = false;
};

class CoarseDeadline : private DeadlineLink {
 public:
  // `on_expire` runs on the loop, once per Arm; it may arm again or destroy any deadline.
  CoarseDeadline(DeadlineList& list, std::function<void()> on_expire);
  ~CoarseDeadline();
  CoarseDeadline(const CoarseDeadline&) = delete;
  CoarseDeadline& operator=(const CoarseDeadline&) = delete;

  void Arm(Duration after);
  void Arm(Duration after, Instant now) {
    at_ = now + after;
    if (alone() || at_ < look_at_) Place(now);
  }
  void Disarm() { at_ = Instant::Never(); }

 private:
  friend class DeadlineList;
  // Puts the deadline into the slot of the tick that has to look at it next.
  void Place(Instant now);

  DeadlineList& list_;
  std::function<void()> on_expire_;
  Instant at_ = Instant::Never();
  Instant look_at_;  // No later than at_; of one that is in the list.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_DEADLINES_H_
