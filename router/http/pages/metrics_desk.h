// Makes the text of /metrics on one loop, so that a scrape holds no loop of clients.
//
// With hundreds of replicas the text takes milliseconds. Thread-safe; owned by the server; lives longer than its
// askers.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "router/http/pages/shared_making.h"

namespace penstock {

class MetricsDesk {
 public:
  using Text = std::shared_ptr<const std::string>;

  // `maker` has a fleet before the first call of Ask.
  explicit MetricsDesk(EventLoop& maker);

  // Any thread. Calls `done` on the loop that makes the text, with figures from after this call. Never, once that loop
  // has stopped.
  void Ask(std::function<void(Text)> done) { making_.Ask(std::move(done)); }

 private:
  SharedMaking<std::string> making_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
