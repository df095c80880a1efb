// The requests of a simulated engine's clients as Beast reads them.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_HTTP_REQUEST_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_HTTP_REQUEST_H_

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/simulated/face/job.h"

namespace penstock::simulated {

using Request = boost::beast::http::request<boost::beast::http::string_body>;
using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// For the id of an answer. Engines of one process share the counter; the time separates processes.
uint64_t NewSerial();
std::string_view View(boost::beast::string_view text);
// Empty: the request has no such header.
std::string_view Header(const Request& request, std::string_view name);
// The work that the request asks for; responses have a store of their own.
std::optional<Route> RouteOf(const Request& request, std::string_view path, bool llama);
// Behind the head, which `parser` has.
boost::asio::awaitable<boost::system::error_code> ReadBody(boost::beast::tcp_stream& stream,
                                                           boost::beast::flat_buffer& buffer, Parser& parser);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_HTTP_REQUEST_H_
