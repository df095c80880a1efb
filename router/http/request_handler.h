// Answers one request: routes it, and serves what needs no engine (models, health, metrics) itself.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_

#include <boost/asio/awaitable.hpp>

#include "router/http/client_connection.h"

namespace penstock {

// Answers one request. True: the connection can take another one.
boost::asio::awaitable<bool> HandleRequest(EventLoop& loop, ClientConnection& client, ClientRequest& request);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_HANDLER_H_
