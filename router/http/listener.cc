#include "router/http/listener.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "router/http/api_error.h"
#include "router/http/client_connection.h"
#include "router/http/clock.h"
#include "router/http/response_head.h"

namespace penstock {
namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

// After an accept failed for want of descriptors.
constexpr Duration kAcceptPause = Duration::Milliseconds(50);
// Beyond the limit, so that health and metrics can still be asked for; they take one request each.
constexpr int kSpareConnections = 64;

// Owns the connection from before its first step.
asio::awaitable<void> Serve(std::shared_ptr<ClientConnection> connection) { co_await connection->Serve(); }

}  // namespace

Listener::Listener(EventLoop& home, std::vector<EventLoop*> loops, Options options)
    : home_(home), loops_(std::move(loops)), options_(options), acceptor_(home.io()), retry_(home.io()) {}

absl::Status Listener::Bind(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("listen: \"", address, "\" is not host:port"));
  }
  absl::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  error_code ec;
  tcp::resolver resolver(home_.io());
  const auto found = resolver.resolve(host.empty() ? "0.0.0.0" : std::string(host), absl::StrCat(port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec || found.empty()) return absl::InvalidArgumentError(absl::StrCat("listen: ", host, ": ", ec.message()));
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", ec.message()));
  port_ = acceptor_.local_endpoint(ec).port();
  address_ = absl::StrCat(address.substr(0, colon), ":", port_);
  return absl::OkStatus();
}

void Listener::Start() { AcceptNext(); }

void Listener::Close() {
  error_code ec;
  acceptor_.close(ec);
  retry_.cancel();
}

void Listener::AcceptNext() {
  if (!acceptor_.is_open()) return;
  EventLoop& loop = *loops_[next_++ % loops_.size()];
  acceptor_.async_accept(loop.io(), [this, &loop](const error_code& ec, tcp::socket socket) {
    if (ec == asio::error::operation_aborted) return;
    if (!ec) {
      Take(loop, std::move(socket));
      AcceptNext();
      return;
    }
    retry_.expires_after(ToChrono(kAcceptPause));
    retry_.async_wait([this](const error_code& cancelled) {
      if (!cancelled) AcceptNext();
    });
  });
}

void Listener::Take(EventLoop& loop, tcp::socket socket) {
  Edge& edge = home_.edge();
  const int before = edge.connections.fetch_add(1, std::memory_order_relaxed);
  const int limit = home_.fleet()->config().limits.max_connections;
  if (before >= limit) edge.telemetry->OnTurnedAway(TurnedAway::kConnections);
  if (before >= limit + kSpareConnections) {
    edge.connections.fetch_sub(1, std::memory_order_relaxed);
    error_code ec;
    const ApiError full = TooManyConnections();
    const std::string body = ErrorBody(full);
    ResponseHead head(full.status, /*keep_alive=*/false, /*http10=*/false);
    head.Add("content-type", "application/json").Add("retry-after", "1");
    const std::string refusal = std::move(head).WithLength(body.size()) + body;
    socket.non_blocking(true, ec);
    if (tls_ == nullptr) socket.write_some(asio::buffer(refusal), ec);
    socket.shutdown(tcp::socket::shutdown_send, ec);
    return;
  }
  const ClientConnection::Use use = options_.admin    ? ClientConnection::Use::kAdmin
                                    : before >= limit ? ClientConnection::Use::kSpare
                                                      : ClientConnection::Use::kClient;
  asio::post(loop.io(), [&loop, use, tls = tls_, socket = std::move(socket)]() mutable {
    asio::co_spawn(loop.io(), Serve(std::make_shared<ClientConnection>(loop, std::move(socket), use, tls.get())),
                   asio::detached);
  });
}

}  // namespace penstock
