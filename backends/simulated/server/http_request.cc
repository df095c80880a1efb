#include "backends/simulated/server/http_request.h"

#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <ctime>

namespace penstock::simulated {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

constexpr size_t kReadBytes = size_t{64} * 1024, kLastChunk = 5;  // The last is "0" and two line ends.

}  // namespace

uint64_t NewSerial() {
  static std::atomic<uint64_t> next{1};
  return next++ ^ static_cast<uint64_t>(std::time(nullptr)) << 32;
}

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view Header(const Request& request, std::string_view name) {
  const auto found = request.find(beast::string_view(name.data(), name.size()));
  return found == request.end() ? std::string_view() : View(found->value());
}

std::optional<Route> RouteOf(const Request& request, std::string_view path, bool llama) {
  if (request.method() != http::verb::post) return std::nullopt;
  if (path == "/v1/chat/completions" || (llama && path == "/chat/completions")) return Route::kChat;
  if (path == "/v1/completions" || (llama && path == "/completions")) return Route::kCompletions;
  if (path == "/v1/embeddings") return Route::kEmbeddings;
  if (path == "/v1/messages") return Route::kMessages;
  return std::nullopt;
}

// Beast asserts that a last chunk is whole in its frame when it sees the chunk's line for the second time.
asio::awaitable<error_code> ReadBody(beast::tcp_stream& stream, beast::flat_buffer& buffer, Parser& parser) {
  error_code error;
  parser.eager(true);
  for (bool cut = false; !parser.is_done();) {  // cut: the parser did not take all of the last input.
    const size_t given = buffer.size();
    if (given > 0 && (!cut || given >= kLastChunk)) {
      const size_t used = parser.put(buffer.data(), error);
      buffer.consume(used);
      cut = used < given;
      if (parser.is_done() || (error && error != http::error::need_more)) break;
    }
    const size_t size =
        co_await stream.async_read_some(buffer.prepare(kReadBytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return error == asio::error::eof ? http::make_error_code(http::error::partial_message) : error;
    buffer.commit(size);
  }
  co_return parser.is_done() ? error_code() : error;
}

}  // namespace penstock::simulated
