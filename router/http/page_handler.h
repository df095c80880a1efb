// Serves the page, its data and the stream of its data.
#ifndef PENSTOCK_ROUTER_HTTP_PAGE_HANDLER_H_
#define PENSTOCK_ROUTER_HTTP_PAGE_HANDLER_H_

#include <boost/asio/awaitable.hpp>

#include "absl/strings/string_view.h"
#include "router/http/exchange/answer.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/request/request_reader.h"

namespace penstock {

// `part` is RouteMatch::page. The page itself holds no data and needs no key; its data may (TenantBook::DenyAdmin).
boost::asio::awaitable<void> AnswerPage(EventLoop& loop, ClientChannel& client, const ClientRequest& request,
                                        absl::string_view part, Answer& answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_PAGE_HANDLER_H_
