// Makes the text of /metrics on one loop, so that a scrape holds no loop of clients.
//
// With hundreds of replicas the text takes milliseconds. Thread-safe; owned by the server; lives longer than its
// askers.
#ifndef PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
#define PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "router/http/pages/shared_making.h"

namespace penstock {

// One text of /metrics. Those who share it compress it once. Thread-safe.
class MetricsText {
 public:
  using Compress = std::function<std::string(absl::string_view)>;

  explicit MetricsText(std::string plain) : plain_(std::move(plain)) {}
  const std::string& plain() const { return plain_; }
  // The first call has `compress` work on the text; the others get the same result, and may wait for it.
  const std::string& Coded(const Compress& compress) const {
    std::call_once(once_, [&] { coded_ = compress(plain_); });
    return coded_;
  }

 private:
  const std::string plain_;
  mutable std::once_flag once_;
  mutable std::string coded_;
};

class MetricsDesk {
 public:
  using Text = std::shared_ptr<const MetricsText>;

  // `maker` has a fleet before the first call of Ask.
  explicit MetricsDesk(EventLoop& maker);

  // Any thread. Calls `done` on the loop that makes the text, with figures from after this call. Never, once that loop
  // has stopped.
  void Ask(std::function<void(Text)> done) { making_.Ask(std::move(done)); }

 private:
  SharedMaking<MetricsText> making_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGES_METRICS_DESK_H_
