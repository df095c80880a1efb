#include "router/http/pages/metrics_desk.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "router/http/pages/metrics_page.h"

namespace penstock {

void MetricsDesk::Ask(std::function<void(Text)> done) {
  {
    std::lock_guard lock(mutex_);
    askers_.push_back(std::move(done));
    if (askers_.size() > 1) return;  // The first one has ordered the text.
  }
  boost::asio::post(maker_.io(), [this] { Make(); });
}

void MetricsDesk::Make() {
  std::vector<std::function<void(Text)>> askers;
  {
    std::lock_guard lock(mutex_);
    askers.swap(askers_);
  }
  const auto text = std::make_shared<const std::string>(MetricsPage(maker_.edge(), maker_.fleet()->config().limits));
  for (const auto& done : askers) done(text);
}

}  // namespace penstock
