// Requests that are an engine's work: from the body of a client to the end of its session, in any dialect.
#ifndef PENSTOCK_ROUTER_HTTP_GENERATION_H_
#define PENSTOCK_ROUTER_HTTP_GENERATION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include "router/http/access_line.h"
#include "router/http/exchange/answer.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/request/request_reader.h"
#include "router/openai/route/routes.h"

namespace penstock {

// Clients that say nothing are taken to send JSON.
bool IsJson(absl::string_view content_type);
// An engine's work, in a body that its path takes.
bool TakesBody(const RouteMatch& match, absl::string_view content_type);

// The address of the client behind trusted proxies.
boost::asio::ip::address AddressOfClient(EventLoop& loop, const ClientChannel& client, const HeaderList& headers);

// Serves the request. TakesBody() is true of it. `line` null: nobody wants a record.
boost::asio::awaitable<void> Generate(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                      const RouteMatch& match, Answer& answer, AccessLine* line);
// The same for a body in a content coding.
boost::asio::awaitable<void> GenerateDecoded(EventLoop& loop, ClientChannel& client, ClientRequest& request,
                                             const RouteMatch& match, Answer& answer, AccessLine* line);
// Answers a request for an engine that no session saw, and counts it.
boost::asio::awaitable<void> TurnAway(EventLoop& loop, const RouteMatch& match, const ApiError& error, Answer& answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_GENERATION_H_
