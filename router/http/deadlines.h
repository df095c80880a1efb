// Coarse deadlines of one loop: arming one is a store, one timer per loop looks at all of them.
//
// A deadline fires up to one tick late, never early. Meant for the limits of many waits (writes, heads, keep-alives),
// of which nearly none ever passes. Belongs to one loop; a Deadline unregisters itself when it is destroyed.
#ifndef PENSTOCK_ROUTER_HTTP_DEADLINES_H_
#define PENSTOCK_ROUTER_HTTP_DEADLINES_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>

#include "kvmodel/units.h"

namespace penstock {

class Deadline;

class DeadlineList {
 public:
  static constexpr Duration kTick = Duration::Milliseconds(25);

  explicit DeadlineList(boost::asio::io_context& loop) : timer_(loop) {}
  void Start();
  void Stop();

 private:
  friend class Deadline;
  void Tick();

  boost::asio::steady_timer timer_;
  std::list<Deadline*> deadlines_;
  std::list<Deadline*>::iterator next_ = deadlines_.end();  // Of the walk in progress.
  bool stopped_ = false;
};

class Deadline {
 public:
  // `on_expire` runs on the loop, once per Arm; it may arm again or destroy any deadline.
  Deadline(DeadlineList& list, std::function<void()> on_expire);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void Arm(Duration after);
  void Arm(Duration after, Instant now) { at_ = now + after; }
  void Disarm() { at_ = Instant::Never(); }

 private:
  friend class DeadlineList;
  DeadlineList& list_;
  std::list<Deadline*>::iterator position_;
  std::function<void()> on_expire_;
  Instant at_ = Instant::Never();
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_DEADLINES_H_
