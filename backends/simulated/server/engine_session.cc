#include "backends/simulated/server/engine_session.h"

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "backends/simulated/face/exchange.h"
#include "backends/simulated/face/job.h"
#include "backends/simulated/server/cache_transfer.h"
#include "backends/simulated/server/framing.h"
#include "backends/simulated/server/host_time.h"
#include "backends/simulated/server/http_request.h"
#include "base/clock.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kIdleTimeout = std::chrono::seconds(5);
constexpr auto kBodyTimeout = std::chrono::seconds(60);
constexpr uint64_t kMostBody = 100'000'000;
constexpr uint32_t kMostHeader = 64 * 1024;

class Session {
 public:
  Session(tcp::socket socket, Engines ranks, EngineStores stores)
      : stream_(std::move(socket)),
        ranks_(std::move(ranks)),
        engine_(ranks_.front()),
        stores_(std::move(stores)),
        wake_(stream_.get_executor()) {
    wake_.expires_at(asio::steady_timer::time_point::max());
  }

  asio::awaitable<void> Serve();
  tcp::socket& socket() { return stream_.socket(); }

 private:
  // False: the connection ends.
  asio::awaitable<bool> Read(Request& request);
  asio::awaitable<bool> Answer(const Request& request);
  asio::awaitable<bool> Generate(const Request& request, Route route);
  asio::awaitable<bool> Respond(const Request& request, const PageRequest& asked);
  asio::awaitable<bool> Follow(const Request& request, const ResponseReply& reply);
  asio::awaitable<bool> Relay(const Request& request, Exchange& exchange);
  asio::awaitable<bool> SendPage(const Request& request, Page page);
  asio::awaitable<bool> SendStreamHead(const Request& request);
  asio::awaitable<bool> Write(std::string_view bytes);
  void WatchForClose();
  asio::awaitable<void> EndWatch();
  bool Llama() const { return engine_->spec().LlamaDialect(); }

  beast::tcp_stream stream_;
  const Engines ranks_;
  const std::shared_ptr<Engine> engine_;  // The first rank, for pages.
  const EngineStores stores_;
  asio::steady_timer wake_;  // Cancelled when the exchange has output or the client is gone.
  beast::flat_buffer buffer_;
  asio::cancellation_signal stop_watching_;
  std::array<char, 1> peeked_{};
  bool watching_ = false;
  bool gone_ = false;  // The client of the current request closed the connection.
};

asio::awaitable<void> Session::Serve() {
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  for (;;) {
    Request request;
    if (!co_await Read(request)) break;
    if (!co_await Answer(request)) break;
  }
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
}

asio::awaitable<bool> Session::Read(Request& request) {
  Parser parser;
  parser.body_limit(kMostBody);
  parser.header_limit(kMostHeader);
  error_code error;
  stream_.expires_after(kIdleTimeout);
  co_await http::async_read_header(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
  if (!error && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    if (!co_await Write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  }
  if (!error) {
    stream_.expires_after(kBodyTimeout);
    error = co_await ReadBody(stream_, buffer_, parser);
  }
  stream_.expires_never();
  if (!error) {
    request = parser.release();
    co_return true;
  }
  const bool answerable = error.category() == http::make_error_code(http::error::bad_method).category() &&
                          error != http::error::end_of_stream && error != http::error::partial_message;
  if (!answerable) co_return false;
  request.version(11);
  request.keep_alive(false);
  const int status = error == http::error::body_limit ? 413 : error == http::error::header_limit ? 431 : 400;
  const ApiError bad{status, "Invalid HTTP request: " + error.message(), "Bad Request", "", {}};
  Page page = ErrorPage(bad, *engine_);
  co_await SendPage(request, std::move(page));
  co_return false;
}

asio::awaitable<bool> Session::Answer(const Request& request) {
  stores_.kept->Expire(Now());
  const std::string_view target = View(request.target());
  const size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  if (const auto route = RouteOf(request, path, Llama())) co_return co_await Generate(request, *route);
  PageRequest asked;
  asked.method = View(request.method_string());
  asked.path = path;
  asked.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  asked.body = request.body();
  asked.now_unix = std::time(nullptr);
  if (ResponseStore::Owns(path)) co_return co_await Respond(request, asked);
  if (asked.path == "/metrics" && !Llama() && asked.method != "POST") {
    Page metrics = RankMetricsPage(ranks_);
    co_return co_await SendPage(request, std::move(metrics));
  }
  Page page = co_await AnswerEveryPage(asked, engine_, stores_.kept);
  co_return co_await SendPage(request, std::move(page));
}

asio::awaitable<bool> Session::Generate(const Request& request, Route route) {
  co_await PassApiServer(engine_->spec(), stream_.get_executor());
  const JobHeaders headers{Header(request, "x-simulated-output-tokens"), Header(request, "x-request-id"),
                           Header(request, "x-session-id")};
  const std::shared_ptr<Engine> rank = RankNamed(ranks_, Header(request, "x-data-parallel-rank"));
  std::variant<Job, ApiError> parsed = ApiError{400, "data_parallel_rank is out of range", "BadRequestError", "", {}};
  if (rank != nullptr) parsed = ParseJob(route, request.body(), headers, *engine_, NewSerial());
  if (const auto lost = co_await PrepareCache(parsed, stream_.socket(), stores_.kept, *engine_)) parsed = *lost;
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    Page page = ErrorPage(*error, *engine_, route);
    co_return co_await SendPage(request, std::move(page));
  }
  Exchange exchange(rank, std::move(std::get<Job>(parsed)), std::time(nullptr), [this] { wake_.cancel(); });
  WatchForClose();
  exchange.Start(Now());
  const bool keep = co_await Relay(request, exchange);
  exchange.AbortAll();
  co_await EndWatch();
  co_return keep && !gone_;
}

// The watch refers to this session, so it must end before the next request and before the session.
asio::awaitable<void> Session::EndWatch() {
  stop_watching_.emit(asio::cancellation_type::all);
  while (watching_) {
    error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

asio::awaitable<bool> Session::Respond(const Request& request, const PageRequest& asked) {
  if (request.method() == http::verb::post) co_await PassApiServer(engine_->spec(), stream_.get_executor());
  const JobHeaders headers{Header(request, "x-simulated-output-tokens"), {}};
  const std::shared_ptr<Engine> rank = RankNamed(ranks_, Header(request, "x-data-parallel-rank"));
  ResponseReply reply = stores_.responses->Answer(asked, headers, rank == nullptr ? engine_ : rank, NewSerial(), Now());
  if (reply.page) co_return co_await SendPage(request, *std::move(reply.page));
  WatchForClose();
  reply.run->Listen(this, [this] { wake_.cancel(); });
  const bool keep = co_await Follow(request, reply);
  reply.run->StopListening(this);
  if (reply.owned) reply.run->Cancel();
  co_await EndWatch();
  co_return keep && !gone_;
}

asio::awaitable<bool> Session::Follow(const Request& request, const ResponseReply& reply) {
  const bool chunked = request.version() >= 11;
  const ResponseLog& log = reply.run->log();
  bool written = true;
  if (reply.stream) written = co_await SendStreamHead(request);
  std::string events, bytes;
  for (size_t next = reply.from; written && !gone_;) {
    for (events.clear(); reply.stream && next < log.events().size(); ++next) events += log.events()[next];
    if (!events.empty()) {
      Frame(std::move(events), chunked, bytes);
      written = co_await Write(bytes);
      continue;
    }
    if (log.ended()) break;
    error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (!written || gone_) co_return false;
  if (!reply.stream) {
    Page page = PageOf(log, *engine_);
    co_return co_await SendPage(request, std::move(page));
  }
  if (chunked) written = co_await Write("0\r\n\r\n");
  co_return written&& chunked&& request.keep_alive();
}

// A peek completes when the client closes. It also completes, and the watch ends, when a next request arrives.
void Session::WatchForClose() {
  gone_ = false;
  watching_ = true;
  stream_.socket().async_receive(
      asio::buffer(peeked_), tcp::socket::message_peek,
      asio::bind_cancellation_slot(stop_watching_.slot(), [this](const error_code& error, size_t) {
        watching_ = false;
        gone_ = error && error != asio::error::operation_aborted;
        wake_.cancel();
      }));
}

asio::awaitable<bool> Session::Relay(const Request& request, Exchange& exchange) {
  const bool stream = exchange.job().stream;
  const bool chunked = request.version() >= 11;
  // vLLM sends the head before any token, llama-server with the first event.
  if (stream && !Llama() && !co_await SendStreamHead(request)) co_return false;
  bool head_sent = stream && !Llama();
  std::string bytes;
  while (!gone_ && !exchange.done()) {
    if (stream && exchange.HasOutput()) {
      if (!std::exchange(head_sent, true) && !co_await SendStreamHead(request)) co_return false;
      Frame(exchange.TakeOutput(), chunked, bytes);
      if (!co_await Write(bytes)) co_return false;
      continue;
    }
    error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (gone_) co_return false;
  if (!stream) {
    Page page{exchange.status(), exchange.TakeOutput()};
    co_return co_await SendPage(request, std::move(page));
  }
  if (!std::exchange(head_sent, true) && !co_await SendStreamHead(request)) co_return false;
  Frame(exchange.TakeOutput(), chunked, bytes);
  if (chunked) bytes += "0\r\n\r\n";
  const bool written = co_await Write(bytes);
  co_return written&& chunked&& request.keep_alive() && !Llama();
}

asio::awaitable<bool> Session::SendStreamHead(const Request& request) {
  const std::string head = StreamHead(Llama(), request.version() >= 11, request.keep_alive());
  co_return co_await Write(head);
}

asio::awaitable<bool> Session::SendPage(const Request& request, Page page) {
  http::response<http::string_body> response(http::int_to_status(static_cast<unsigned>(page.status)),
                                             request.version());
  response.set(http::field::server, Llama() ? "llama.cpp" : "uvicorn");
  if (!page.body.empty()) response.set(http::field::content_type, page.content_type);
  const size_t length = page.body.size();
  if (request.method() != http::verb::head) response.body() = std::move(page.body);
  response.content_length(length);
  // llama-server announces a close after an error, but keeps the connection open.
  const bool claims_close = Llama() && page.status >= 400;
  response.keep_alive(request.keep_alive() && !claims_close);
  if (Llama() && !claims_close) response.set(http::field::keep_alive, "timeout=5, max=100");
  error_code error;
  co_await http::async_write(stream_, response, asio::redirect_error(asio::use_awaitable, error));
  co_return (!error || error == http::error::end_of_stream) && request.keep_alive();
}

asio::awaitable<bool> Session::Write(std::string_view bytes) {
  error_code error;
  co_await asio::async_write(stream_.socket(), asio::buffer(bytes.data(), bytes.size()),
                             asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

}  // namespace

asio::awaitable<void> ServeConnection(tcp::socket socket, Engines ranks, std::shared_ptr<OpenSockets> open,
                                      EngineStores stores) {
  Session session(std::move(socket), std::move(ranks), std::move(stores));
  open->insert(&session.socket());
  co_await session.Serve();
  open->erase(&session.socket());
}

}  // namespace penstock::simulated
