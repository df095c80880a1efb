#include "backends/simulated/server/cache_transfer.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "backends/simulated/face/sleep_pages.h"
#include "backends/simulated/handover/cache_words.h"
#include "base/clock.h"

namespace penstock::simulated {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr auto kPatience = std::chrono::seconds(5);

std::optional<Tokens> TokensIn(const std::string& body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("tokens") || !answer["tokens"].is_number_unsigned()) return std::nullopt;
  return Tokens(answer["tokens"].get<int64_t>());
}

// The tokens whose cache arrived.
asio::awaitable<std::optional<Tokens>> FetchCache(CachePlace place) {
  error_code error;
  const auto address = asio::ip::make_address(place.host, error);
  if (error) co_return std::nullopt;
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(kPatience);
  const asio::ip::tcp::endpoint endpoint(address, place.port);
  co_await stream.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return std::nullopt;
  http::request<http::string_body> request(http::verb::post, "/simulated/cache?request=" + place.request, 11);
  request.set(http::field::host, place.host);
  request.keep_alive(false);
  request.prepare_payload();
  co_await http::async_write(stream, request, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return std::nullopt;
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, asio::redirect_error(asio::use_awaitable, error));
  if (error || response.result() != http::status::ok) co_return std::nullopt;
  co_return TokensIn(response.body());
}

asio::awaitable<Page> GiveCache(PageRequest request, const Engine& engine, KeptCaches& kept) {
  constexpr std::string_view kName = "request=";
  const bool named = request.method == "POST" && request.query.starts_with(kName);
  const std::string name(named ? request.query.substr(kName.size()) : std::string_view());
  const std::optional<Tokens> tokens = kept.TokensOf(name);
  if (!tokens) co_return ErrorPage({404, "There is no such cache.", "NotFoundError", "", {}}, engine);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const EngineSpec& spec = engine.spec();
  timer.expires_after(ToChrono(Duration::Seconds(spec.transfer * tokens->AsDouble() / spec.time_scale)));
  co_await timer.async_wait(asio::use_awaitable);
  // The lease may have ended meanwhile, and another engine may have been quicker.
  if (!kept.GiveAway(name)) co_return ErrorPage({404, "The cache is gone.", "NotFoundError", "", {}}, engine);
  co_return Page{200, "{\"tokens\":" + std::to_string(tokens->value()) + "}"};
}

}  // namespace

asio::awaitable<std::optional<ApiError>> PrepareCache(std::variant<Job, ApiError>& parsed,
                                                      const asio::ip::tcp::socket& client,
                                                      std::shared_ptr<KeptCaches> kept, const Engine& engine) {
  Job* job = std::get_if<Job>(&parsed);
  if (job == nullptr) co_return std::nullopt;
  // A cache belongs to one sequence.
  if (job->cache.keeps && job->choices.size() == 1) {
    job->kept = std::move(kept);
    error_code unknown;
    const asio::ip::tcp::endpoint here = client.local_endpoint(unknown);
    job->kept_at = {here.address().to_string(), here.port(), engine.spec().id, job->id};
  }
  if (!job->cache.fetches) co_return std::nullopt;
  const std::optional<Tokens> fetched = co_await FetchCache(*job->cache.fetches);
  if (!fetched) co_return ApiError{500, "The KV cache could not be loaded.", "InternalServerError", "", {}};
  job->arrived = *fetched;
  co_return std::nullopt;
}

asio::awaitable<Page> AnswerEveryPage(PageRequest request, std::shared_ptr<Engine> engine,
                                      std::shared_ptr<KeptCaches> kept) {
  if (request.path == "/simulated/cache") co_return co_await GiveCache(request, *engine, *kept);
  co_return co_await AnswerAnyPage(request, engine);
}

}  // namespace penstock::simulated
