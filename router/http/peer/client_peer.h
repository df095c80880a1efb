// The address of a client, and the account under which its memory and connections are counted. A value; a copy keeps
// the place of the connection among those of its address.
#ifndef PENSTOCK_ROUTER_HTTP_PEER_CLIENT_PEER_H_
#define PENSTOCK_ROUTER_HTTP_PEER_CLIENT_PEER_H_

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <memory>

#include "absl/hash/hash.h"
#include "router/http/peer/peer_counts.h"

namespace penstock {

// One host has a whole /64 network of IPv6 addresses. The hash differs in each process.
inline uint64_t AccountOf(const boost::asio::ip::address& address) {
  if (address.is_v4()) return absl::HashOf(address.to_v4().to_uint());
  const boost::asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    return absl::HashOf(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).to_uint());
  }
  const auto bytes = v6.to_bytes();
  return absl::HashOf(
      std::array<uint8_t, 8>{bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]});
}

struct ClientPeer {
  boost::asio::ip::address address;   // Unspecified: of a unix socket.
  PeerCounts::Place place = nullptr;  // Null: it is not counted.
  // Set: the connection begins with a PROXY header. The address that the header names is counted here.
  std::shared_ptr<PeerCounts> named = nullptr;

  // False: the connection came over a unix socket, and so from no address.
  bool known() const { return !address.is_unspecified(); }
  uint64_t account() const { return AccountOf(address); }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PEER_CLIENT_PEER_H_
