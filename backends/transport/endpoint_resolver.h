// Host name to endpoints, without blocking the loop and without trusting the resolver to answer.
//
// Address literals cost nothing. Names are looked up on Asio's resolver thread and remembered for 10 s, so that
// engines that close a connection after every stream do not cost a look-up each. Used on one loop only.
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
  // Unavailable (no such host), DeadlineExceeded.
  boost::asio::awaitable<absl::StatusOr<Endpoints>> Resolve(Duration timeout);
  // After no endpoint could be reached: the next Resolve asks again.
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
