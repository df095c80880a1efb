// The addresses of an engine's host, without blocking the loop, and with a time limit.
//
// Address literals and localhost need no look-up. That of another name may hang (name_look_ups.h). Known addresses
// serve on while a look-up runs or fails (known_addresses.h), those that another loop found too. Used on one loop only.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/names/name_look_ups.h"
#include "backends/socket/stream_socket.h"
#include "base/units.h"

namespace penstock {

class EndpointResolver {
 public:
  // `look_ups` outlive it.
  EndpointResolver(boost::asio::io_context& loop, std::string host, uint16_t port,
                   NameLookUps& look_ups = NameLookUps::OfProcess());
  // Unavailable when the host does not exist, DeadlineExceeded after `timeout`; only while no address is known.
  boost::asio::awaitable<absl::StatusOr<std::vector<SocketAddress>>> Resolve(Duration timeout);
  // Call it when no address could be reached. The next Resolve() then waits for a look-up.
  void Distrust();

 private:
  struct State;

  std::shared_ptr<State> state_;  // Those that wait for a look-up share it.
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
