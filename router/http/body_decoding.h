// Decompresses the body of a request before it is read.
#ifndef PENSTOCK_ROUTER_HTTP_BODY_DECODING_H_
#define PENSTOCK_ROUTER_HTTP_BODY_DECODING_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>

#include "router/http/request/request_reader.h"
#include "router/live/event_loop.h"
#include "router/openai/error/api_error.h"
#include "router/session/client/client.h"

namespace penstock {

// Replaces a body in a content coding by its text, within limits.max_body and the memory of `caller`. The loop does
// other work after each slice. An error is the answer to the request. Stops within a slice once the client is gone; the
// body is then not to be used.
boost::asio::awaitable<std::optional<ApiError>> DecodeBody(EventLoop& loop, Client& client, uint64_t caller,
                                                           ClientRequest& request);

ApiError UnknownEncoding(absl::string_view content_encoding);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_BODY_DECODING_H_
