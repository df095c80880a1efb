// Answers one request: routes it, and serves what needs no engine (models, health, metrics) itself.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "router/http/client_connection.h"

namespace penstock {

// The account of a body that is worth reading. Empty: the path, the method, the content type or the key is refused, or
// the route takes no body.
std::optional<uint64_t> CallerOfBody(EventLoop& loop, const ClientConnection& client, const RequestHead& head);

// The largest body of a request with this head.
size_t LargestBody(const EventLoop& loop, const RequestHead& head);
// The handler of the request reads its body in pieces.
bool TakesPieces(const RequestHead& head);

// Answers one request. True: the connection can take another one.
boost::asio::awaitable<bool> HandleRequest(EventLoop& loop, ClientConnection& client, ClientRequest& request);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
