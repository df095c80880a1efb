#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/transport/upstream_state.h"
#include "base/clock.h"

namespace penstock {
namespace asio = boost::asio;
namespace http = boost::beast::http;

using ErrorCode = boost::system::error_code;

namespace {

// The part of its loop that one connection may use before it lets the others run.
constexpr Duration kTurn = Duration::Microseconds(500);
// Engines send one interim answer at most.
constexpr int kMaxInterim = 16;
constexpr int kLeastFinalStatus = 200;
constexpr absl::string_view kRefusal = "penstock/connection_refused";

}  // namespace

bool Ours(const ErrorCode& error) {
  return error == asio::error::timed_out || error == asio::error::operation_aborted ||
         error == asio::error::bad_descriptor;
}

absl::Status LostStatus(absl::string_view operation, const ErrorCode& error) {
  const std::string message = absl::StrCat(operation, ": ", error.message());
  if (error == asio::error::timed_out) return absl::DeadlineExceededError(message);
  if (Ours(error)) return absl::CancelledError(message);
  if (IsLocalShortage(error)) return absl::ResourceExhaustedError(message);
  absl::Status lost = absl::UnavailableError(message);
  if (error == asio::error::connection_refused) lost.SetPayload(kRefusal, absl::Cord());
  return lost;
}

bool WasRefused(const absl::Status& error) { return error.GetPayload(kRefusal).has_value(); }

UpstreamExchange::State::~State() {
  if (!connection || aborted) return;
  // An interim head is complete as well, but the answer behind it is yet to come.
  const bool answered = broken.ok() && parser->is_done() && parser->head().status >= kLeastFinalStatus;
  if (answered && connection->input().empty() && outgoing.written && parser->keep_alive()) {
    pool->PutIdle(std::move(connection));
  } else {
    connection->Close();
  }
}

void UpstreamExchange::State::Parse() {
  const absl::string_view input = connection->input();
  if (input.empty() || parser->is_done()) return;
  any_byte = true;
  ErrorCode error;
  const size_t used = parser->Parse(input, error);
  connection->Consume(used);
  if (error && error != http::error::need_more) {
    broken = absl::DataLossError(absl::StrCat("answer is not HTTP: ", error.message()));
  }
}

absl::StatusOr<bool> UpstreamExchange::State::HeadReady() {
  while (parser->is_header_done()) {
    const int status = parser->head().status;
    if (status >= kLeastFinalStatus) return true;
    if (status == 101 && outgoing.switches) return true;
    if (status == 101) return broken = absl::DataLossError("answer switches protocols unasked");
    if (++interim > kMaxInterim) return broken = absl::DataLossError("too many interim answers");
    NewParser();
    Parse();
  }
  if (!broken.ok()) return broken;
  return false;
}

absl::Status UpstreamExchange::State::AfterEnd(const ErrorCode& error) {
  if (Ours(error)) return LostStatus("reading the answer", error);
  ErrorCode incomplete;
  if (error == asio::error::eof) parser->put_eof(incomplete);
  if (error != asio::error::eof || incomplete) {
    return absl::DataLossError(absl::StrCat("answer was cut: ", error.message()));
  }
  return absl::OkStatus();
}

bool UpstreamExchange::State::TakeInput(const ErrorCode& waited, Step step) {
  read_error = connection->TakeInput(waited);
  if (read_error == asio::error::would_block) return false;
  if (read_error) return true;
  Parse();
  return !step();
}

bool UpstreamExchange::State::TurnIsOver() {
  if (!std::exchange(turn.begun, true)) return false;
  const Instant now = Now();
  if (!turn.end) turn.end = now + kTurn;
  return now >= *turn.end;
}

bool UpstreamExchange::State::ReadReady(Step step) {
  while (connection->has_more() && !TurnIsOver()) {
    if (TakeInput(ErrorCode(), step)) return true;
  }
  return false;
}

asio::awaitable<void> UpstreamExchange::State::ReadOn(Duration timeout, Step step) {
  parser->FreeBody();
  reading.emplace(Reading{timeout, step, TimeLeft(timeout)});
  return reader.Wait([this, timeout] { connection->AwaitInput(timeout, *this); },
                     [open = connection] { open->CancelWait(); });
}

void UpstreamExchange::State::OnInput(const ErrorCode& waited) {
  turn = Turn{.begun = true, .end = std::nullopt};
  try {
    if (!TakeInput(waited, reading->step) && !ReadReady(reading->step)) {
      // Bytes that are no body, such as those of a head, give no more time.
      if (!std::exchange(reading->piece, false)) return connection->AwaitInput(reading->left.value(), *this);
      reading->left = TimeLeft(reading->timeout);
      return connection->AwaitInput(reading->timeout, *this);
    }
  } catch (...) {
    surprise = std::current_exception();
  }
  reader.Resume();
}

std::optional<absl::StatusOr<bool>> UpstreamExchange::State::GiveBody(UpstreamExchange::Take take) {
  if (!parser->body().empty()) {
    const absl::string_view piece = parser->body();
    if (reading) reading->piece = true;
    parser->DropBody();
    if (!take(piece)) return false;
  }
  if (parser->is_done()) return true;
  if (!broken.ok()) return broken;
  if (aborted) return absl::CancelledError("exchange was aborted");
  return std::nullopt;
}

UpstreamExchange::UpstreamExchange() = default;
UpstreamExchange::UpstreamExchange(UpstreamExchange&&) noexcept = default;
UpstreamExchange& UpstreamExchange::operator=(UpstreamExchange&&) noexcept = default;
UpstreamExchange::~UpstreamExchange() = default;

int UpstreamExchange::writes() const { return state_ ? state_->outgoing.writes : 0; }
int UpstreamExchange::partial_writes() const { return state_ ? state_->outgoing.begun - state_->outgoing.writes : 0; }
bool UpstreamExchange::connected() const { return state_ != nullptr && state_->connection != nullptr; }

void UpstreamExchange::Abort() {
  if (!state_ || state_->aborted) return;
  state_->aborted = true;
  if (state_->connection) state_->connection->Close();
}

std::shared_ptr<Connection> UpstreamExchange::TakeConnection() { return std::move(state_->connection); }

absl::StatusOr<UpstreamExchange::State::HeadStep> UpstreamExchange::State::NextOfHead() {
  if (surprise) std::rethrow_exception(std::exchange(surprise, nullptr));
  if (read_error && WasStale(read_error)) return HeadStep::kSendAnew;
  if (read_error == asio::error::no_buffer_space) return absl::DataLossError("response head is too long");
  if (read_error) return LostStatus("waiting for the answer", read_error);
  const absl::StatusOr<bool> ready = HeadReady();
  if (!ready.ok()) return ready.status();
  if (!*ready && aborted) return absl::CancelledError("exchange was aborted");
  if (!*ready) return HeadStep::kRead;
  if (!IdledOut()) return HeadStep::kDone;
  NewParser();
  return HeadStep::kSendAnew;
}

UpstreamHead UpstreamExchange::State::TakeHead() {
  parser->KeepBody();
  // The request is not written again, and a stream may be long.
  std::string().swap(outgoing.head);
  std::vector<absl::string_view>().swap(outgoing.body);
  std::vector<asio::const_buffer>().swap(outgoing.unwritten);
  UpstreamHead head = std::move(parser->head());
  if (const auto length = parser->content_length()) head.length = *length;
  head.early = !outgoing.written;
  head.event_stream = absl::StartsWithIgnoreCase(FindHeader(head.headers, "content-type"), "text/event-stream");
  return head;
}

asio::awaitable<absl::StatusOr<UpstreamHead>> UpstreamExchange::ReadHead(Duration timeout) {
  State& state = *state_;
  const TimeLeft left(timeout);
  const auto wants_more = [&state] { return !state.parser->is_header_done() && state.broken.ok(); };
  state.read_error = ErrorCode();
  absl::StatusOr<State::HeadStep> step = state.NextOfHead();
  for (; step.ok() && *step != State::HeadStep::kDone; step = state.NextOfHead()) {
    if (*step == State::HeadStep::kSendAnew) {
      const absl::Status sent = co_await state.SendFresh(left.value());
      if (!sent.ok()) co_return sent;
      state.read_error = ErrorCode();
    } else if (!state.ReadReady(wants_more)) {
      co_await state.ReadOn(left.value(), wants_more);
    }
  }
  if (!step.ok()) co_return step.status();
  co_return state.TakeHead();
}

asio::awaitable<absl::StatusOr<bool>> UpstreamExchange::ReadWhile(Duration timeout, Take take) {
  State& state = *state_;
  std::optional<absl::StatusOr<bool>> result = state.GiveBody(take);
  if (result) co_return *std::move(result);
  const auto step = [&] { return !(result = state.GiveBody(take)); };
  if (!state.ReadReady(step)) co_await state.ReadOn(timeout, step);
  if (state.surprise) std::rethrow_exception(std::exchange(state.surprise, nullptr));
  if (result) co_return *std::move(result);
  if (state.read_error == asio::error::no_buffer_space) co_return absl::DataLossError("chunk frame is too long");
  if (absl::Status ended = state.AfterEnd(state.read_error); !ended.ok()) co_return ended;
  co_return true;
}

asio::awaitable<absl::StatusOr<absl::string_view>> UpstreamExchange::ReadSome(Duration timeout) {
  absl::string_view piece;
  const auto take = [&piece](absl::string_view bytes) { return piece = bytes, false; };
  const absl::StatusOr<bool> ended = co_await ReadWhile(timeout, take);
  if (!ended.ok()) co_return ended.status();
  co_return piece;
}

std::optional<absl::string_view> UpstreamExchange::WholeAtHand(size_t limit) {
  State& state = *state_;
  if (!state.parser->is_done() || !state.broken.ok() || state.parser->body().size() > limit) return std::nullopt;
  const absl::string_view whole = state.parser->body();
  state.parser->DropBody();
  return whole;
}

asio::awaitable<absl::StatusOr<std::string>> UpstreamExchange::ReadAll(Duration timeout, size_t limit) {
  const TimeLeft left(timeout);
  std::string whole;
  bool fits = true;
  bool at_hand = true;  // The body at hand needs no wait.
  const auto take = [&](absl::string_view piece) {
    fits = whole.size() + piece.size() <= limit;
    if (fits) whole.append(piece.data(), piece.size());
    return fits && at_hand;
  };
  std::optional<absl::StatusOr<bool>> ended = state_->GiveBody(take);
  at_hand = false;
  while (fits && (!ended || (ended->ok() && !**ended))) ended = co_await ReadWhile(left.value(), take);
  if (!fits) co_return absl::OutOfRangeError(absl::StrCat("answer is longer than ", limit, " bytes"));
  if (!ended->ok()) co_return ended->status();
  co_return whole;
}

}  // namespace penstock
