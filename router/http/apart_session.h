// A session that may go on after its connection has the answer: a response that its engine makes in the background.
#ifndef PENSTOCK_ROUTER_HTTP_APART_SESSION_H_
#define PENSTOCK_ROUTER_HTTP_APART_SESSION_H_

#include <boost/asio/awaitable.hpp>

#include "absl/strings/string_view.h"
#include "router/http/exchange/answer.h"
#include "router/http/request/request_reader.h"
#include "router/session/state/preparation.h"

namespace penstock {

// The body of a response may ask for work in the background. One that hides the key behind escapes does not count; its
// session refuses it. Searches slices, and lets the loop do other work between them.
boost::asio::awaitable<bool> MayRunApart(EventLoop& loop, Client& client, absl::string_view body);

// Runs `session`, whose headers and body are those of `request`, and returns when the client has its answer or is gone.
// The session keeps the request's body and its memory until then. It is a guest of the loop until it ends.
boost::asio::awaitable<void> RunApart(EventLoop& loop, ClientRequest& request, SessionRequest session, Answer& answer);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_APART_SESSION_H_
