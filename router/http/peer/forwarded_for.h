// The address of the client behind trusted proxies, from X-Forwarded-For. Pure.
#ifndef PENSTOCK_ROUTER_HTTP_PEER_FORWARDED_FOR_H_
#define PENSTOCK_ROUTER_HTTP_PEER_FORWARDED_FOR_H_

#include <boost/asio/ip/address.hpp>

#include "backends/dialect/headers.h"
#include "router/fleet/trusted_proxies.h"

namespace penstock {

// True: the proxy's word counts. An unspecified address is that of a unix socket.
bool Trusts(const TrustedProxies& proxies, const boost::asio::ip::address& proxy);

// Follows the addresses of X-Forwarded-For from the last one to the first, as long as a trusted proxy named each. The
// result is `connection` where that is no trusted proxy. An address that cannot be read ends the walk.
boost::asio::ip::address ClientAddress(const TrustedProxies& proxies, const boost::asio::ip::address& connection,
                                       const HeaderList& headers);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PEER_FORWARDED_FOR_H_
