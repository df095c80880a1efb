#include "router/http/listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/names/look_ups_together.h"
#include "base/clock.h"
#include "base/listen_failure.h"
#include "config/text/addresses.h"
#include "router/http/client_connection.h"
#include "router/http/peer/forwarded_for.h"
#include "router/http/response_head.h"
#include "router/openai/error/api_error.h"

namespace penstock {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// After an accept failed for want of descriptors, and no connection is idle.
constexpr Duration kAcceptPause = Duration::Milliseconds(50);
constexpr int kAcceptedAtOnce = 32;
constexpr Duration kLookUpLimit = Duration::Seconds(5);

// Unspecified for a unix socket.
asio::ip::address AddressOf(const sockaddr_storage& from) {
  tcp::endpoint endpoint(from.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), 0);
  if (from.ss_family != AF_INET && from.ss_family != AF_INET6) return endpoint.address();
  std::memcpy(endpoint.data(), &from, endpoint.size());
  return endpoint.address();
}

// Owns the connection from before its first step.
asio::awaitable<void> Serve(std::shared_ptr<ClientConnection> connection) { co_await connection->Serve(); }

}  // namespace

// A connection that no loop has yet: a loop's sockets are touched by its own thread only.
class Listener::Accepted {
 public:
  Accepted(int socket, ClientPeer peer) : socket_(socket), peer_(std::move(peer)) {}
  Accepted(Accepted&& other) noexcept : socket_(other.Release()), peer_(std::move(other.peer_)) {}
  Accepted& operator=(Accepted&&) = delete;
  ~Accepted() {
    if (socket_ >= 0) ::close(socket_);
  }
  int get() const { return socket_; }
  const ClientPeer& peer() const { return peer_; }
  // False: its address has as many connections as it may have.
  bool Count(PeerCounts& counts, int most) {
    peer_.place = counts.Enter(peer_.account(), most);
    return peer_.place != nullptr;
  }
  void CountReplaced(PeerCounts& counts) { peer_.place = counts.Replace(peer_.account()); }
  // A PROXY header will name the address that counts.
  void CountNamed(std::shared_ptr<PeerCounts> counts) { peer_.named = std::move(counts); }
  // Serves the connection, on the thread of its loop.
  void Begin(EventLoop& loop, ClientConnection::Use use, const TlsContext* tls) {
    auto connection = std::make_shared<ClientConnection>(loop, Release(), peer_, use, tls);
    asio::co_spawn(loop.io(), Serve(std::move(connection)), asio::detached);
  }

 private:
  int Release() { return std::exchange(socket_, -1); }

  int socket_;
  ClientPeer peer_;
};

Listener::Listener(EventLoop& home, std::vector<EventLoop*> loops, Options options)
    : home_(home),
      loops_(std::move(loops)),
      options_(options),
      peers_(std::make_shared<PeerCounts>()),
      acceptor_(home.io()),
      retry_(home.io()) {}

absl::Status Listener::Bind(absl::string_view address) {
  absl::StatusOr<ListenAddress> parsed = ParseListen(address);
  if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat("listen: ", parsed.status().message()));
  if (parsed->socket_path.empty() && parsed->tcp.host.empty()) parsed->tcp.host = "0.0.0.0";
  address_ = parsed->Text();
  if (!parsed->socket_path.empty()) {
    const asio::local::stream_protocol::endpoint endpoint(parsed->socket_path);
    return Open(endpoint, parsed->socket_path);
  }
  const std::string& host = parsed->tcp.host;
  const std::optional<NameAnswer> found = LookUpTogether({host}, kLookUpLimit).front();
  if (!found) return absl::UnavailableError(absl::StrCat("listen: ", host, ": no name server answered in time"));
  if (found->error) return absl::InvalidArgumentError(absl::StrCat("listen: ", host, ": ", found->error.message()));
  const tcp::endpoint wanted(found->addresses.front(), parsed->tcp.port);
  if (absl::Status opened = Open(wanted, ""); !opened.ok()) return opened;
  error_code ec;
  tcp::endpoint bound;
  const Protocol::endpoint local = acceptor_.local_endpoint(ec);
  std::memcpy(bound.data(), local.data(), std::min(local.size(), bound.capacity()));
  port_ = parsed->tcp.port = bound.port();
  address_ = parsed->Text();
  return absl::OkStatus();
}

absl::Status Listener::Open(const Protocol::endpoint& endpoint, const std::string& socket_path) {
  error_code ec;
  const auto failed = [&] { return absl::UnavailableError(ListenFailure(address_, ec.message(), ec.value())); };
  acceptor_.open(endpoint.protocol(), ec);
  if (ec) return failed();
  if (!socket_path.empty()) {
    if (absl::Status way = SocketFile::MakeWay(socket_path, acceptor_.native_handle()); !way.ok()) return way;
  }
  acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (ec) return failed();
  if (!socket_path.empty()) {
    if (absl::Status taken = file_.Take(socket_path); !taken.ok()) return taken;
  }
  acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) acceptor_.non_blocking(true, ec);
  return ec ? failed() : absl::OkStatus();
}

void Listener::Start() { AcceptNext(); }

void Listener::Close() {
  error_code ec;
  acceptor_.close(ec);
  file_.Remove();
  retry_.cancel();
}

void Listener::AcceptNext() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_wait(asio::socket_base::wait_read, [this](const error_code& ec) {
    if (ec != asio::error::operation_aborted) AcceptSome();
  });
}

void Listener::AcceptSome() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    const int socket =
        ::accept4(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    Accepted accepted(socket, ClientPeer{AddressOf(from)});
    if (accepted.get() >= 0) {
      Take(std::move(accepted));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return MakeRoom();
    }
  }
  AcceptNext();
}

void Listener::MakeRoom() {
  if (EventLoop* idle = LoopOfOldest()) {
    asio::post(idle->io(), [this, idle] {
      idle->connections().CloseOldest(Now());
      asio::post(home_.io(), [this] { AcceptNext(); });
    });
    return;
  }
  retry_.expires_after(ToChrono(kAcceptPause));
  retry_.async_wait([this](const error_code& cancelled) {
    if (!cancelled) AcceptNext();
  });
}

EventLoop* Listener::LoopOfOldest() const {
  const Instant now = Now();
  const auto first_by = [this](auto since_on) {
    EventLoop* found = nullptr;
    Instant oldest = Instant::Never();
    for (EventLoop* loop : loops_) {
      const Instant since = since_on(loop->connections());
      if (since < oldest) {
        oldest = since;
        found = loop;
      }
    }
    return found;
  };
  EventLoop* const idle = first_by([](const ConnectionSet& connections) { return connections.oldest_idle(); });
  return idle != nullptr ? idle
                         : first_by([now](const ConnectionSet& connections) { return connections.oldest_new(now); });
}

void Listener::Refuse(const Accepted& accepted) {
  home_.edge().connections.fetch_sub(1, std::memory_order_relaxed);
  const ApiError full = TooManyConnections();
  if (tls_ == nullptr) home_.edge().telemetry->OnRefusal(full.status, full.reason);
  const std::string body = ErrorBody(full);
  ResponseHead head(full.status, /*keep_alive=*/false, /*http10=*/false);
  head.Add("content-type", "application/json").Add("retry-after", "1");
  const std::string refusal = std::move(head).WithLength(body.size()) + body;
  if (tls_ == nullptr) ::send(accepted.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL);
  ::shutdown(accepted.get(), SHUT_WR);
}

// A trusted proxy has the connections of many clients.
bool Listener::Count(Accepted& accepted) const {
  const FleetView& fleet = *home_.fleet();
  const ClientPeer& peer = accepted.peer();
  if (options_.admin) return true;
  if (Trusts(fleet.proxies, peer.address)) {
    if (fleet.config().proxy_protocol) accepted.CountNamed(peers_);
    return true;
  }
  return !peer.known() || accepted.Count(*peers_, PeerCounts::MostOfOnePeer(fleet.config().limits.max_connections));
}

void Listener::TurnAway(const Accepted& accepted) {
  home_.edge().telemetry->OnTurnedAway(TurnedAway::kConnections);
  Refuse(accepted);
}

void Listener::Replace(Accepted accepted, size_t asked) {
  if (asked == loops_.size()) return TurnAway(accepted);
  EventLoop& loop = *loops_[(next_ + asked) % loops_.size()];
  asio::post(loop.io(), [this, &loop, asked, tls = tls_, accepted = std::move(accepted)]() mutable {
    if (!loop.connections().CloseOldestOf(accepted.peer().account(), Now())) {
      asio::post(home_.io(),
                 [this, asked, accepted = std::move(accepted)]() mutable { Replace(std::move(accepted), asked + 1); });
      return;
    }
    accepted.CountReplaced(*peers_);
    accepted.Begin(loop, ClientConnection::Use::kClient, tls.get());
  });
}

// In a full router a newcomer takes the place of the oldest idle connection, on the loop of that one.
void Listener::Take(Accepted accepted) {
  Edge& edge = home_.edge();
  const int before = edge.connections.fetch_add(1, std::memory_order_relaxed);
  const int limit = home_.fleet()->config().limits.max_connections;
  const bool full = before >= limit;
  EventLoop* const idle = full ? LoopOfOldest() : nullptr;
  if (!Count(accepted)) return Replace(std::move(accepted), 0);
  if (idle == nullptr && before >= limit + options_.spare) return TurnAway(accepted);
  EventLoop& loop = idle != nullptr ? *idle : *loops_[next_++ % loops_.size()];
  asio::post(loop.io(), [&loop, full, admin = options_.admin, tls = tls_, accepted = std::move(accepted)]() mutable {
    ClientConnection::Use use = admin ? ClientConnection::Use::kAdmin : ClientConnection::Use::kClient;
    if (full && !loop.connections().CloseOldest(Now())) {
      loop.edge().telemetry->OnTurnedAway(TurnedAway::kConnections);
      if (!admin) use = ClientConnection::Use::kSpare;
    }
    accepted.Begin(loop, use, tls.get());
  });
}

}  // namespace penstock
