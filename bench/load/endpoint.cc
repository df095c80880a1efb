#include "bench/load/endpoint.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kIdleLimit = std::chrono::seconds(4);

}  // namespace

absl::StatusOr<Endpoint> Endpoint::Resolve(const LoadTarget& target, asio::io_context& loop) {
  tcp::resolver resolver(loop);
  error_code error;
  const auto results = resolver.resolve(target.host, target.port, error);
  if (error) return absl::UnavailableError(absl::StrCat(target.url, ": ", error.message()));
  Endpoint endpoint(target);
  for (const auto& result : results) endpoint.addresses_.push_back(result.endpoint());
  return endpoint;
}

asio::awaitable<error_code> Endpoint::Connect(tcp::socket& socket) const {
  const auto [error, address] = co_await asio::async_connect(socket, addresses_, asio::as_tuple(asio::use_awaitable));
  if (!error) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
  }
  co_return error;
}

std::optional<tcp::socket> Endpoint::TakeIdle() {
  const auto oldest_usable = std::chrono::steady_clock::now() - kIdleLimit;
  if (idle_.empty()) return std::nullopt;
  if (idle_.back().since < oldest_usable) {
    idle_.clear();
    return std::nullopt;
  }
  std::optional<tcp::socket> socket(std::move(idle_.back().socket));
  idle_.pop_back();
  return socket;
}

}  // namespace penstock::bench
