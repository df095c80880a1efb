#include "router/http/pages/metrics_desk.h"

#include <boost/asio/post.hpp>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "router/http/pages/metrics_page.h"

namespace penstock {
namespace {

// The loop rests from texts for so many times as long as one took.
constexpr int64_t kRest = 3;

}  // namespace

void MetricsDesk::Ask(std::function<void(Text)> done) {
  {
    std::lock_guard lock(mutex_);
    askers_.push_back(std::move(done));
    if (askers_.size() > 1) return;  // The first one has ordered the text.
  }
  boost::asio::post(maker_.io(), [this] { Begin(); });
}

void MetricsDesk::Begin() {
  const Instant now = Now();
  if (now >= next_) return Make();
  pause_.expires_after(ToChrono(next_ - now));
  pause_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) Make();
  });
}

void MetricsDesk::Make() {
  std::vector<std::function<void(Text)>> askers;
  {
    std::lock_guard lock(mutex_);
    askers.swap(askers_);
  }
  const Instant begun = Now();
  const FleetBook& book = maker_.fleet()->book;
  const auto text = std::make_shared<const std::string>(MetricsPage(maker_.edge(), book.config().limits, &book));
  const Instant made = Now();
  next_ = made + (made - begun) * kRest;
  for (const auto& done : askers) done(text);
}

}  // namespace penstock
