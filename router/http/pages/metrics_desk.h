// Makes the text of /metrics on one loop, so that a scrape holds no loop of clients.
//
// With hundreds of replicas the text takes milliseconds. Scrapes that wait together share one text, and texts take a
// quarter of the loop's time at most, however many scrapes come. Thread-safe; owned by the server; lives longer than
// its askers.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/live/event_loop.h"

namespace penstock {

class MetricsDesk {
 public:
  using Text = std::shared_ptr<const std::string>;

  // `maker` has a fleet before the first call of Ask.
  explicit MetricsDesk(EventLoop& maker) : maker_(maker), pause_(maker.io()) {}

  // Any thread. Calls `done` on the loop that makes the text, with figures from after this call. Never, once that loop
  // has stopped.
  void Ask(std::function<void(Text)> done);

 private:
  // On the loop that makes the text: now, or after a pause.
  void Begin();
  void Make();

  EventLoop& maker_;
  boost::asio::steady_timer pause_;  // That loop's, like `next_`.
  Instant next_;
  std::mutex mutex_;  // Guards everything below.
  std::vector<std::function<void(Text)>> askers_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
