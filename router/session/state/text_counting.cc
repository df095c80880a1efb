#include "router/session/state/text_counting.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/dialect/json_values.h"
#include "router/openai/request/body_splice.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The longest wait for a step of the count of a text, which takes an engine some milliseconds.
constexpr Duration kCountStep = Duration::Seconds(1);
// Bytes of a count's answer: vLLM lists the tokens too, each with up to seven digits, a comma and a blank.
constexpr size_t kCountBytesPerByte = 10;
constexpr size_t kCountBytes = 4096;

size_t SizeOf(const UpstreamRequest& question) {
  return std::accumulate(question.body.begin(), question.body.end(), size_t{0},
                         [](size_t sum, absl::string_view piece) { return sum + piece.size(); });
}

asio::awaitable<absl::StatusOr<std::string>> Ask(const SessionState& state, UpstreamPool& pool,
                                                 UpstreamExchange& exchange, const UpstreamRequest& question) {
  std::optional<absl::Status> sent = pool.SendNow(exchange, question);
  if (!sent) sent = co_await pool.FinishSend(exchange, state.Left(kCountStep));
  if (!sent->ok()) co_return *sent;
  const auto head = co_await exchange.ReadHead(state.Left(kCountStep));
  if (!head.ok()) co_return head.status();
  if (head->status != http_status::kOk) co_return absl::UnimplementedError("The engine does not count.");
  const size_t most = std::min(kLongestEngineJson, kCountBytes + kCountBytesPerByte * SizeOf(question));
  co_return co_await exchange.ReadAll(state.Left(kCountStep), most);
}

asio::awaitable<std::optional<Tokens>> AskCount(const SessionState& state, UpstreamPool& pool,
                                                UpstreamExchange& exchange, const UpstreamRequest& question) {
  const absl::StatusOr<std::string> answer = co_await Ask(state, pool, exchange, question);
  if (!answer.ok()) co_return std::nullopt;
  const std::optional<Tokens> tokens = state.engine().capabilities->text_count.read(*answer);
  // A token has a byte at least.
  const bool possible = tokens && tokens->value() <= static_cast<int64_t>(SizeOf(question));
  co_return possible ? tokens : std::nullopt;
}

}  // namespace

asio::awaitable<std::optional<Tokens>> CountByEngine(const SessionState& state, UpstreamPool& pool,
                                                     UpstreamExchange& exchange, HeaderList headers) {
  const TextCount& count = state.engine().capabilities->text_count;
  if (count.path == nullptr) co_return std::nullopt;
  const std::string body = count.ask(state.answer.PromptText());
  UpstreamRequest question;
  question.target = count.path;
  question.headers = std::move(headers);
  question.body = {body};
  co_return co_await AskCount(state, pool, exchange, question);
}

asio::awaitable<std::optional<Tokens>> CountPromptByEngine(const SessionState& state, UpstreamPool& pool,
                                                           UpstreamExchange& exchange, HeaderList headers) {
  const TextCount& count = state.engine().capabilities->text_count;
  if (!count.requests || state.answer.reported || state.facts().media) co_return std::nullopt;
  if (!StreamsChunks(state.request.endpoint)) co_return std::nullopt;
  SpliceOrder order;
  order.engine_model = state.fleet->book.EngineModelName(state.forward->replica, state.prepared.model);
  const SplicedBody body(state.request.body, state.request.endpoint, state.facts(), order);
  UpstreamRequest question;
  question.target = count.path;
  question.headers = std::move(headers);
  question.body = body.pieces();
  co_return co_await AskCount(state, pool, exchange, question);
}

}  // namespace penstock
