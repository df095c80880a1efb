// The endpoints of a host name, without blocking the loop, and with a time limit.
//
// Address literals need no look-up. The resolver thread of Asio looks names up. Results are valid for 10 s, so an
// engine that closes each connection after a stream does not cause a look-up per stream. Used on one loop only.
#ifndef PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
#define PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"

namespace penstock {

class EndpointResolver {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

  EndpointResolver(boost::asio::io_context& loop, std::string host, uint16_t port);
  // Unavailable when the host does not exist, DeadlineExceeded after `timeout`.
  boost::asio::awaitable<absl::StatusOr<Endpoints>> Resolve(Duration timeout);
  // Call it when no endpoint could be reached. The next Resolve() then looks the name up again.
  void Forget() { known_until_ = {}; }

 private:
  boost::asio::io_context& loop_;
  std::string host_;
  uint16_t port_;
  Endpoints known_;
  std::chrono::steady_clock::time_point known_until_{};
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_TRANSPORT_ENDPOINT_RESOLVER_H_
