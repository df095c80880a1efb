// Accepts client connections and hands them to the loops, round robin. Lives on one loop; bounded by
// limits.max_connections. A full router closes the connection that is idle for longest (connection_set.h). It refuses
// when there is none. One address has a part of the connections (peer_counts.h).
#ifndef PENSTOCK_ROUTER_HTTP_LISTENER_H_
#define PENSTOCK_ROUTER_HTTP_LISTENER_H_

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backends/socket/tls.h"
#include "router/http/peer/peer_counts.h"
#include "router/http/socket/socket_file.h"
#include "router/live/event_loop.h"

namespace penstock {

class Listener {
 public:
  struct Options {
    bool admin = false;
    int spare = 0;  // Connections beyond the limit, for health and metrics. Each ends behind its first answer.
  };
  Listener(EventLoop& home, std::vector<EventLoop*> loops, Options options);

  // Before the loops run. "host:port", "[v6]:port" or "unix:/path"; port 0 takes a free one. InvalidArgument,
  // Unavailable (in use).
  absl::Status Bind(absl::string_view address);
  // The bound address, with the port that was taken. The port of a unix socket is 0.
  std::string address() const { return address_; }
  uint16_t port() const { return port_; }

  // New connections speak TLS from now on; null: they do not. On the home loop, or before Start.
  void SetTls(TlsContext::Pointer tls) { tls_ = std::move(tls); }

  // On the home loop.
  void Start();
  void Close();

 private:
  class Accepted;
  using Protocol = boost::asio::generic::stream_protocol;

  absl::Status Open(const Protocol::endpoint& endpoint, const std::string& socket_path);
  void AcceptNext();
  // Accepts some of the waiting connections.
  void AcceptSome();
  void Take(Accepted accepted);
  // Counts a connection of its address. False: the address has as many as it may have.
  bool Count(Accepted& accepted) const;
  // After an accept failed for want of descriptors: closes an idle connection, or pauses.
  void MakeRoom();
  // The loop of the connection that goes first; null: none may be closed.
  EventLoop* LoopOfOldest() const;
  // The address of the newcomer has its share of connections. The newcomer takes the place of one that is idle, on the
  // loop of that one. `asked` loops have none.
  void Replace(Accepted accepted, size_t asked);
  void TurnAway(const Accepted& accepted);
  void Refuse(const Accepted& accepted);

  EventLoop& home_;
  const std::vector<EventLoop*> loops_;
  const Options options_;
  const std::shared_ptr<PeerCounts> peers_;
  TlsContext::Pointer tls_;
  SocketFile file_;  // Removed after the acceptor was closed.
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  boost::asio::steady_timer retry_;
  std::string address_;
  uint16_t port_ = 0;
  size_t next_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_LISTENER_H_
