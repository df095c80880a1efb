// The addresses of an engine's host, without blocking the loop, and with a time limit.
//
// Address literals need no look-up. The resolver thread of Asio looks names up. known_addresses.h has the rules: known
// addresses serve on while a look-up runs or fails. Used on one loop only.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/socket/stream_socket.h"
#include "base/units.h"

namespace penstock {

class EndpointResolver {
 public:
  EndpointResolver(boost::asio::io_context& loop, std::string host, uint16_t port);
  // Unavailable when the host does not exist, DeadlineExceeded after `timeout`; only while no address is known.
  boost::asio::awaitable<absl::StatusOr<std::vector<SocketAddress>>> Resolve(Duration timeout);
  // Call it when no address could be reached. The next Resolve() then waits for a look-up.
  void Distrust();

 private:
  struct State;

  std::string host_;
  std::shared_ptr<State> state_;  // A running look-up shares it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
