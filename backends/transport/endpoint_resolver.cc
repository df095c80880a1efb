#include "backends/transport/endpoint_resolver.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The state that a look-up and its waiting coroutine share. Either may end first.
struct LookUp {
  explicit LookUp(asio::io_context& loop) : resolver(loop), wake(loop) {}
  asio::ip::tcp::resolver resolver;
  asio::steady_timer wake;
  bool answered = false;
  boost::system::error_code error;
  EndpointResolver::Endpoints endpoints;
};

void Start(const std::shared_ptr<LookUp>& look_up, const std::string& host, uint16_t port) {
  look_up->resolver.async_resolve(host, std::to_string(port), [look_up](const auto& error, const auto& results) {
    look_up->answered = true;
    look_up->error = error;
    for (const auto& entry : results) look_up->endpoints.push_back(entry.endpoint());
    look_up->wake.cancel();
  });
}

}  // namespace

EndpointResolver::EndpointResolver(asio::io_context& loop, std::string host, uint16_t port)
    : loop_(loop), host_(std::move(host)), port_(port) {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(host_, error);
  if (!error) known_.emplace_back(address, port_);
}

asio::awaitable<absl::StatusOr<EndpointResolver::Endpoints>> EndpointResolver::Resolve(Duration timeout) {
  const auto now = std::chrono::steady_clock::now();
  boost::system::error_code not_literal;
  asio::ip::make_address(host_, not_literal);
  if (!known_.empty() && (!not_literal || now < known_until_)) co_return known_;

  auto look_up = std::make_shared<LookUp>(loop_);
  look_up->wake.expires_at(now + std::chrono::nanoseconds(timeout.nanoseconds()));
  Start(look_up, host_, port_);
  if (!look_up->answered) co_await look_up->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!look_up->answered) {
    look_up->resolver.cancel();
    co_return absl::DeadlineExceededError(absl::StrCat("resolving ", host_));
  }
  if (look_up->error || look_up->endpoints.empty()) {
    co_return absl::UnavailableError(absl::StrCat("resolving ", host_, ": ", look_up->error.message()));
  }
  known_ = look_up->endpoints;
  known_until_ = now + std::chrono::seconds(10);
  co_return known_;
}

}  // namespace penstock
