#include "backends/upstream.h"

#include <algorithm>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/pool/connection.h"
#include "backends/pool/endpoint_resolver.h"
#include "backends/pool/response_parser.h"

namespace penstock {
namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

// The time left of one limit that several operations share.
class TimeLeft {
 public:
  explicit TimeLeft(Duration timeout)
      : infinite_(timeout >= Duration::Infinite()), start_(Clock::now()), all_(timeout) {}
  Duration value() const {
    if (infinite_) return Duration::Infinite();
    const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_);
    return std::max(Duration(), all_ - Duration::Nanoseconds(spent.count()));
  }

 private:
  bool infinite_;
  Clock::time_point start_;
  Duration all_;
};

// Ended by us: by a deadline, by Abort, or with the coroutine that waited.
bool Ours(const ErrorCode& error) {
  return error == asio::error::timed_out || error == asio::error::operation_aborted ||
         error == asio::error::bad_descriptor;
}

absl::Status LostStatus(absl::string_view what, const ErrorCode& error) {
  const std::string message = absl::StrCat(what, ": ", error.message());
  if (error == asio::error::timed_out) return absl::DeadlineExceededError(message);
  if (Ours(error)) return absl::CancelledError(message);
  return absl::UnavailableError(message);
}

bool HasLineBreak(const std::string& text) {
  return text.find('\r') != std::string::npos || text.find('\n') != std::string::npos;
}

absl::StatusOr<std::string> SerializeHead(const UpstreamAddress& address, const UpstreamRequest& request) {
  if (HasLineBreak(request.target)) return absl::InvalidArgumentError("line break in the request target");
  const bool ipv6 = address.host.find(':') != std::string::npos;
  std::string head;
  head.reserve(1024);
  absl::StrAppend(&head, request.method, " ", address.base_path, request.target, " HTTP/1.1\r\nHost: ");
  absl::StrAppend(&head, ipv6 ? "[" : "", address.host, ipv6 ? "]:" : ":", address.port, "\r\n");
  for (const auto& [name, value] : request.headers) {
    if (HasLineBreak(name) || HasLineBreak(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line break in header ", name.substr(0, name.find_first_of("\r\n"))));
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }
  size_t length = 0;
  for (absl::string_view piece : request.body) length += piece.size();
  if (length > 0 || request.method == "POST") absl::StrAppend(&head, "Content-Length: ", length, "\r\n");
  absl::StrAppend(&head, "\r\n");
  return head;
}

}  // namespace

absl::string_view UpstreamHead::Find(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, name)) return value;
  }
  return {};
}

// What a pool and its exchanges share; outlives the pool until the last exchange ends.
struct UpstreamPool::Shared : std::enable_shared_from_this<UpstreamPool::Shared> {
  struct Idle {
    std::shared_ptr<Connection> connection;
    Clock::time_point since;
  };

  Shared(asio::io_context& io, UpstreamAddress where, Options how)
      : loop(io),
        address(std::move(where)),
        options(std::move(how)),
        resolver(io, address.host, address.port),
        timer(io) {}

  Clock::duration idle_limit() const { return std::chrono::nanoseconds(options.idle_limit.nanoseconds()); }
  // The most recently used connection that is still good; drops the others it meets.
  std::shared_ptr<Connection> TakeIdle();
  void PutIdle(std::shared_ptr<Connection> connection);
  void ArmTimer();
  void CloseExpired();
  asio::awaitable<absl::StatusOr<std::shared_ptr<Connection>>> Connect(Duration timeout);

  asio::io_context& loop;
  UpstreamAddress address;
  Options options;
  EndpointResolver resolver;
  asio::steady_timer timer;
  bool timer_waiting = false;
  bool closed = false;
  std::deque<Idle> idle;  // Oldest first.
  std::shared_ptr<size_t> open = std::make_shared<size_t>(0);
};

std::shared_ptr<Connection> UpstreamPool::Shared::TakeIdle() {
  const Clock::time_point now = Clock::now();
  while (!idle.empty()) {
    Idle candidate = std::move(idle.back());
    idle.pop_back();
    if (now - candidate.since < idle_limit() && candidate.connection->Quiet()) return candidate.connection;
  }
  return nullptr;
}

void UpstreamPool::Shared::PutIdle(std::shared_ptr<Connection> connection) {
  if (closed || options.max_idle == 0) return connection->Close();
  if (idle.size() >= options.max_idle) idle.pop_front();
  idle.push_back(Idle{std::move(connection), Clock::now()});
  if (!timer_waiting) ArmTimer();
}

void UpstreamPool::Shared::ArmTimer() {
  timer_waiting = true;
  timer.expires_at(idle.front().since + idle_limit());
  timer.async_wait([self = weak_from_this()](const ErrorCode& error) {
    auto shared = self.lock();
    if (!shared || error) return;
    shared->timer_waiting = false;
    shared->CloseExpired();
  });
}

void UpstreamPool::Shared::CloseExpired() {
  const Clock::time_point limit = Clock::now() - idle_limit();
  while (!idle.empty() && idle.front().since <= limit) idle.pop_front();
  if (!idle.empty()) ArmTimer();
}

asio::awaitable<absl::StatusOr<std::shared_ptr<Connection>>> UpstreamPool::Shared::Connect(Duration timeout) {
  const TimeLeft left(std::min(timeout, options.connect_timeout));
  auto endpoints = co_await resolver.Resolve(left.value());
  if (!endpoints.ok()) co_return endpoints.status();
  auto connection = std::make_shared<Connection>(loop, open);
  const ErrorCode error = co_await connection->Connect(*std::move(endpoints), left.value());
  if (error) {
    resolver.Forget();
    co_return LostStatus(absl::StrCat("connecting to ", address.host, ":", address.port), error);
  }
  if (!address.tls) co_return connection;
  if (options.tls == nullptr) co_return absl::UnavailableError("https without a TLS context");
  const std::string& name = options.server_name.empty() ? address.host : options.server_name;
  const ErrorCode refused = co_await connection->StartTls(*options.tls, name, left.value());
  if (refused) {
    co_return LostStatus(absl::StrCat("TLS with ", name, ": ", connection->tls_error()), refused);
  }
  co_return connection;
}

struct UpstreamExchange::State {
  struct Reader;
  struct Suspend;

  explicit State(std::shared_ptr<UpstreamPool::Shared> shared) : pool(std::move(shared)) { NewParser(); }
  ~State();

  void NewParser() {
    parser.emplace(static_cast<uint32_t>(Connection::kHeadLimit));
    if (no_body) parser->skip(true);
  }
  // What the socket takes at once; would_block leaves the rest in `unwritten`.
  ErrorCode WriteNow();
  asio::awaitable<ErrorCode> WriteRest(Duration timeout);
  asio::awaitable<absl::Status> SendFresh(Duration timeout);
  // Parses the input at hand. What is not HTTP sets `broken`; what was good before it can still be read.
  void Parse();
  // Skips an interim answer. True when the head of the real answer is there.
  absl::StatusOr<bool> HeadReady();
  // A kept connection that the engine had closed before our request reached it.
  bool WasStale(const ErrorCode& error) const { return reused && !any_byte && !Ours(error); }
  absl::Status AfterEnd(const ErrorCode& error);

  // Asked after each input was parsed: false ends the reading.
  using Step = absl::FunctionRef<bool()>;
  // Reads and parses what needs no wait until `step` says so, or an error, which is left in `read_error`. True: reading
  // has ended. Else the caller suspends itself once (Suspend), however much then comes: it is taken by a callback that
  // costs no coroutine.
  bool ReadReady(Step step);
  bool TakeInput(const ErrorCode& waited, Step step);
  // Gives the body at hand to `take`. A result: true at the end of the body, false when `take` wants no more now.
  std::optional<absl::StatusOr<bool>> GiveBody(UpstreamExchange::Take take);

  std::shared_ptr<UpstreamPool::Shared> pool;
  std::shared_ptr<Connection> connection;
  std::string request_head;
  std::vector<absl::string_view> request_body;
  std::vector<asio::const_buffer> unwritten;
  std::optional<ResponseParser> parser;
  absl::Status broken;
  ErrorCode read_error;
  std::exception_ptr surprise;  // Thrown by a step.
  bool no_body = false;         // The answer to HEAD.
  bool reused = false;          // The connection had served before: it may turn out dead, once.
  bool any_byte = false;
  bool written = false;
  bool aborted = false;
};

UpstreamExchange::State::~State() {
  if (!connection || aborted) return;
  const bool ended = parser->is_done() && connection->input_size() == 0 && written;
  if (ended && parser->keep_alive()) {
    pool->PutIdle(std::move(connection));
  } else {
    connection->Close();
  }
}

ErrorCode UpstreamExchange::State::WriteNow() {
  unwritten.clear();
  unwritten.reserve(1 + request_body.size());
  unwritten.push_back(asio::buffer(request_head));
  for (absl::string_view piece : request_body) unwritten.emplace_back(piece.data(), piece.size());
  const ErrorCode error = connection->WriteNow(unwritten);
  written = !error;
  return error;
}

asio::awaitable<ErrorCode> UpstreamExchange::State::WriteRest(Duration timeout) {
  const ErrorCode error = co_await connection->Write(std::move(unwritten), timeout);
  written = !error;
  co_return error;
}

asio::awaitable<absl::Status> UpstreamExchange::State::SendFresh(Duration timeout) {
  const TimeLeft left(timeout);
  reused = false;
  auto fresh = co_await pool->Connect(timeout);
  if (!fresh.ok()) co_return fresh.status();
  if (aborted) co_return absl::CancelledError("exchange was aborted");
  connection = *std::move(fresh);
  ErrorCode error = WriteNow();
  if (error == asio::error::would_block) error = co_await WriteRest(left.value());
  // An engine may refuse a body and close before it read it all: its answer is worth more than our error.
  if (error && (aborted || !connection->HasInput())) co_return LostStatus("writing the request", error);
  co_return absl::OkStatus();
}

void UpstreamExchange::State::Parse() {
  if (connection->input_size() == 0 || parser->is_done()) return;
  any_byte = true;
  ErrorCode error;
  const size_t used = parser->put(asio::buffer(connection->input(), connection->input_size()), error);
  connection->Consume(used);
  if (error && error != http::error::need_more) {
    broken = absl::DataLossError(absl::StrCat("answer is not HTTP: ", error.message()));
  }
}

absl::StatusOr<bool> UpstreamExchange::State::HeadReady() {
  while (parser->is_header_done()) {
    const int status = parser->head().status;
    if (status >= 200) return true;
    if (status == 101) return absl::DataLossError("answer switches protocols unasked");
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

// The wait of a suspended reader. Owns its coroutine, so that both go when the loop is destroyed.
struct UpstreamExchange::State::Reader {
  State* state;
  Duration timeout;
  Step step;
  asio::cancellation_slot slot;
  absl::AnyInvocable<void()> resume;

  void Wait() {
    Connection& connection = *state->connection;
    connection.AwaitInput(timeout, [reader = std::move(*this)](const ErrorCode& waited) mutable { reader.Go(waited); });
  }
  void Go(const ErrorCode& waited) {
    try {
      if (!state->TakeInput(waited, step) && !state->ReadReady(step)) return Wait();
    } catch (...) {
      state->surprise = std::current_exception();
    }
    if (slot.is_connected()) slot.clear();
    resume();
  }
};

bool UpstreamExchange::State::TakeInput(const ErrorCode& waited, Step step) {
  read_error = connection->TakeInput(waited);
  if (read_error == asio::error::would_block) return false;
  if (read_error) return true;
  Parse();
  return !step();
}

bool UpstreamExchange::State::ReadReady(Step step) {
  while (connection->has_more()) {
    if (TakeInput(ErrorCode(), step)) return true;
  }
  return false;
}

// Begins the wait of a reader that is suspended for it.
struct UpstreamExchange::State::Suspend {
  State* state;
  Duration timeout;
  Step step;

  template <class Handler>
  void operator()(Handler handler) const {
    Reader reader{state, timeout, step, asio::get_associated_cancellation_slot(handler), {}};
    if (reader.slot.is_connected()) {
      reader.slot.assign([open = state->connection](asio::cancellation_type) { open->CancelWait(); });
    }
    reader.resume = std::move(handler);
    reader.Wait();
  }
};

std::optional<absl::StatusOr<bool>> UpstreamExchange::State::GiveBody(UpstreamExchange::Take take) {
  if (!parser->body().empty()) {
    const absl::string_view piece = parser->body();
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

void UpstreamExchange::Abort() {
  if (!state_ || state_->aborted) return;
  state_->aborted = true;
  if (state_->connection) state_->connection->Close();
}

// The analyzer takes what asio sets when it resumes a coroutine for undefined.
template <class Suspend>
asio::awaitable<void> SuspendFor([[maybe_unused]] const Suspend& suspend) {
#ifdef __clang_analyzer__
  co_return;
#else
  return asio::async_initiate<const asio::use_awaitable_t<>&, void()>(suspend, asio::use_awaitable);
#endif
}

asio::awaitable<absl::StatusOr<UpstreamHead>> UpstreamExchange::ReadHead(Duration timeout) {
  State& state = *state_;
  const TimeLeft left(timeout);
  const auto wants_more = [&state] { return !state.parser->is_header_done() && state.broken.ok(); };
  while (true) {
    absl::StatusOr<bool> ready = state.HeadReady();
    if (!ready.ok()) co_return ready.status();
    if (*ready) break;
    if (state.aborted) co_return absl::CancelledError("exchange was aborted");
    if (!state.ReadReady(wants_more)) {
      const State::Suspend wait{&state, left.value(), wants_more};
      co_await SuspendFor(wait);
    }
    if (state.surprise) std::rethrow_exception(std::exchange(state.surprise, nullptr));
    const ErrorCode error = state.read_error;
    if (error && state.WasStale(error)) {
      const absl::Status sent = co_await state.SendFresh(left.value());
      if (!sent.ok()) co_return sent;
      continue;
    }
    if (error == asio::error::no_buffer_space) co_return absl::DataLossError("response head is too long");
    if (error) co_return LostStatus("waiting for the answer", error);
  }
  state.parser->KeepBody();
  // Nothing is written again from here on, and a stream may be long.
  std::string().swap(state.request_head);
  std::vector<absl::string_view>().swap(state.request_body);
  std::vector<asio::const_buffer>().swap(state.unwritten);
  UpstreamHead head = std::move(state.parser->head());
  head.event_stream = absl::StartsWithIgnoreCase(head.Find("Content-Type"), "text/event-stream");
  co_return head;
}

asio::awaitable<absl::StatusOr<bool>> UpstreamExchange::ReadWhile(Duration timeout, Take take) {
  State& state = *state_;
  std::optional<absl::StatusOr<bool>> result = state.GiveBody(take);
  if (result) co_return *std::move(result);
  const auto step = [&] { return !(result = state.GiveBody(take)); };
  if (!state.ReadReady(step)) {
    const State::Suspend wait{&state, timeout, step};
    co_await SuspendFor(wait);
  }
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

asio::awaitable<absl::StatusOr<std::string>> UpstreamExchange::ReadAll(Duration timeout, size_t limit) {
  const TimeLeft left(timeout);
  std::string whole;
  bool fits = true;
  bool at_hand = true;  // No wait, whose time would have to be counted.
  const auto take = [&](absl::string_view piece) {
    fits = whole.size() + piece.size() <= limit;
    if (fits) whole.append(piece.data(), piece.size());
    return fits && at_hand;
  };
  std::optional<absl::StatusOr<bool>> ended = state_->GiveBody(take);
  at_hand = false;
  while (fits && (!ended || (ended->ok() && !**ended))) ended = co_await ReadWhile(left.value(), take);
  if (!fits) co_return absl::ResourceExhaustedError(absl::StrCat("answer is longer than ", limit, " bytes"));
  if (!ended->ok()) co_return ended->status();
  co_return whole;
}

UpstreamPool::UpstreamPool(asio::io_context& loop, UpstreamAddress address, Options options)
    : shared_(std::make_shared<Shared>(loop, std::move(address), std::move(options))) {}

UpstreamPool::~UpstreamPool() {
  shared_->closed = true;
  CloseIdle();
}

asio::awaitable<absl::StatusOr<UpstreamExchange>> UpstreamPool::Send(const UpstreamRequest& request, Duration timeout) {
  UpstreamExchange exchange;
  const absl::Status sent = co_await SendInto(exchange, request, timeout);
  if (!sent.ok()) co_return sent;
  co_return std::move(exchange);
}

asio::awaitable<absl::Status> UpstreamPool::SendInto(UpstreamExchange& exchange, const UpstreamRequest& request,
                                                     Duration timeout) {
  const TimeLeft left(timeout);
  auto head = SerializeHead(shared_->address, request);
  if (!head.ok()) co_return head.status();
  exchange.state_ = std::make_unique<UpstreamExchange::State>(shared_);
  UpstreamExchange::State& state = *exchange.state_;
  state.request_head = *std::move(head);
  state.request_body = request.body;
  state.no_body = request.method == "HEAD";
  if (state.no_body) state.NewParser();

  state.connection = shared_->TakeIdle();
  if (state.connection) {
    state.reused = true;
    ErrorCode error = state.WriteNow();
    if (error == asio::error::would_block) error = co_await state.WriteRest(left.value());
    if (!error || (!state.aborted && state.connection->HasInput())) co_return absl::OkStatus();
    if (Ours(error)) co_return LostStatus("writing the request", error);
  }
  co_return co_await state.SendFresh(left.value());
}

const UpstreamAddress& UpstreamPool::address() const { return shared_->address; }
size_t UpstreamPool::idle() const { return shared_->idle.size(); }
size_t UpstreamPool::open() const { return *shared_->open; }

void UpstreamPool::CloseIdle() {
  shared_->idle.clear();
  shared_->timer.cancel();
  shared_->timer_waiting = false;
}

}  // namespace penstock
