// A target of the load with its addresses and its idle connections, the most recently used last.
//
// A connection rests for at most 4 s: engines close an idle one after 5 s. Owned by a run; used by its thread only.
#ifndef PENSTOCK_BENCH_LOAD_ENDPOINT_H_
#define PENSTOCK_BENCH_LOAD_ENDPOINT_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/load/load_target.h"

namespace penstock::bench {

class Endpoint {
 public:
  // Unavailable: the target's name has no address.
  static absl::StatusOr<Endpoint> Resolve(const LoadTarget& target, boost::asio::io_context& loop);

  const LoadTarget& target() const { return target_; }
  boost::asio::awaitable<boost::system::error_code> Connect(boost::asio::ip::tcp::socket& socket) const;
  // An idle connection that its server has hardly closed yet.
  std::optional<boost::asio::ip::tcp::socket> TakeIdle();
  void Keep(boost::asio::ip::tcp::socket socket) {
    idle_.push_back({std::move(socket), std::chrono::steady_clock::now()});
  }

 private:
  struct IdleConnection {
    boost::asio::ip::tcp::socket socket;
    std::chrono::steady_clock::time_point since;
  };

  explicit Endpoint(const LoadTarget& target) : target_(target) {}

  LoadTarget target_;
  std::vector<boost::asio::ip::tcp::endpoint> addresses_;
  std::vector<IdleConnection> idle_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_LOAD_ENDPOINT_H_
