// Connects to the first address of a host that answers (RFC 8305 without its look-up part).
//
// The addresses are tried in order, IPv6 and IPv4 in turns. The next try begins 250 ms after the one before, or at once
// when that one fails. The first connection wins, and the others are closed. Lives in the coroutine that connects; used
// once. Cost: one socket per try, no timer of its own per address.
#ifndef PENSTOCK_BACKENDS_SOCKET_CONNECTOR_H_
#define PENSTOCK_BACKENDS_SOCKET_CONNECTOR_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "backends/socket/deadline.h"
#include "backends/socket/stream_socket.h"
#include "backends/socket/suspended.h"
#include "base/units.h"

namespace penstock {

class Connector final : public Readiness::Owner {
 public:
  using ErrorCode = boost::system::error_code;
  static constexpr Duration kNextTry = Duration::Milliseconds(250);

  explicit Connector(boost::asio::io_context& loop);

  // The connection, or null with an `error`: timed_out, operation_aborted, or the error of an address. The error of a
  // peer goes before a shortage of this machine. The caller sets another owner at once.
  boost::asio::awaitable<std::unique_ptr<StreamSocket>> Connect(std::vector<SocketAddress> addresses, Duration timeout,
                                                                ErrorCode& error);

  void OnReady() override { suspended_.Resume(); }
  void OnLoopEnd() override { suspended_.Destroy(); }

 private:
  // Begins the next try. False: it failed at once.
  bool Begin(const SocketAddress& address);
  // The connection that is ready. Drops the tries that failed.
  std::unique_ptr<StreamSocket> Winner();
  void Note(const ErrorCode& error);

  boost::asio::io_context& loop_;
  Suspended suspended_;
  Deadline timer_;
  std::vector<std::unique_ptr<StreamSocket>> tries_;
  ErrorCode failure_;
  bool cancelled_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_CONNECTOR_H_
