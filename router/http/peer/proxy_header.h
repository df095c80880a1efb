// Reads the header of the PROXY protocol, versions 1 and 2, that a proxy writes before the bytes of its client. Pure.
//
// Fields behind the addresses of version 2 are passed over.
#ifndef PENSTOCK_ROUTER_HTTP_PEER_PROXY_HEADER_H_
#define PENSTOCK_ROUTER_HTTP_PEER_PROXY_HEADER_H_

#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace penstock {

struct ProxyHeader {
  enum class State : uint8_t { kNeedMore, kDone, kBad };

  // The longest header that is read.
  static constexpr size_t kMaxBytes = 4096;

  State state = State::kNeedMore;
  size_t size = 0;                                 // kDone: the bytes before those of the client.
  std::optional<boost::asio::ip::address> client;  // Empty: the proxy speaks for itself, or names no IP address.
  absl::string_view fault;                         // kBad: a constant text.
};

// `bytes`: the beginning of a connection.
ProxyHeader ReadProxyHeader(absl::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PEER_PROXY_HEADER_H_
