#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backends/transport/upstream_state.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

// The usual size of a request head without target and fields.
constexpr size_t kHeadFrame = 160;

std::string Name(const UpstreamAddress& address) {
  if (!address.socket_path.empty()) return absl::StrCat("unix:", address.socket_path);
  return absl::StrCat(address.host, ":", address.port);
}

bool HasLineBreak(absl::string_view text) {
  return text.find('\r') != absl::string_view::npos || text.find('\n') != absl::string_view::npos;
}

// The first field with a line break. Fields stand in one block of memory, so a list without one costs two searches.
std::optional<absl::string_view> NameOfBroken(const HeaderList& headers) {
  if (headers.size() == 0 || !HasLineBreak(absl::string_view(headers[0].first.data(), headers.bytes()))) {
    return std::nullopt;
  }
  for (const auto [name, value] : headers) {
    if (HasLineBreak(name) || HasLineBreak(value)) return name;
  }
  return std::nullopt;
}

void AppendField(absl::string_view name, absl::string_view value, std::string& head) {
  head.append(name.data(), name.size()).append(": ", 2).append(value.data(), value.size()).append("\r\n", 2);
}

absl::StatusOr<std::string> SerializeHead(const UpstreamAddress& address, const UpstreamRequest& request) {
  if (HasLineBreak(request.target)) return absl::InvalidArgumentError("line break in the request target");
  if (const std::optional<absl::string_view> broken = NameOfBroken(request.headers)) {
    const absl::string_view shown = broken->substr(0, broken->find_first_of("\r\n"));
    return absl::InvalidArgumentError(absl::StrCat("line break in header ", shown));
  }
  std::string head;
  head.reserve(kHeadFrame + request.target.size() + request.headers.bytes() + 4 * request.headers.size());
  head.append(request.method).append(" ").append(address.base_path).append(request.target);
  absl::StrAppend(&head, " HTTP/1.1\r\nHost: ", HostOf(address), "\r\n");
  for (const auto [name, value] : request.headers) AppendField(name, value, head);
  size_t length = 0;
  for (absl::string_view piece : request.body) length += piece.size();
  if (length > 0 || request.method == "POST") AppendField("Content-Length", absl::AlphaNum(length).Piece(), head);
  head.append("\r\n");
  return head;
}

}  // namespace

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
  absl::StatusOr<std::vector<SocketAddress>> addresses;
  if (address.socket_path.empty()) {
    addresses = co_await resolver.Resolve(left.value());
    if (!addresses.ok()) co_return addresses.status();
  } else {
    addresses = std::vector<SocketAddress>(1, asio::local::stream_protocol::endpoint(address.socket_path));
  }
  auto connection = std::make_shared<Connection>(loop, open);
  const ErrorCode error = co_await connection->Connect(*std::move(addresses), left.value());
  if (error) {
    if (!IsLocalShortage(error)) resolver.Distrust();
    co_return LostStatus(absl::StrCat("connecting to ", Name(address)), error);
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

UpstreamPool::UpstreamPool(asio::io_context& loop, UpstreamAddress address, Options options)
    : shared_(std::make_shared<Shared>(loop, std::move(address), std::move(options))) {}

UpstreamPool::~UpstreamPool() {
  shared_->closed = true;
  CloseIdle();
}

asio::awaitable<absl::StatusOr<UpstreamExchange>> UpstreamPool::Send(const UpstreamRequest& request, Duration timeout) {
  UpstreamExchange exchange;
  std::optional<absl::Status> sent = SendNow(exchange, request);
  if (!sent) sent = co_await FinishSend(exchange, timeout);
  if (!sent->ok()) co_return *std::move(sent);
  co_return std::move(exchange);
}

std::optional<absl::Status> UpstreamPool::SendNow(UpstreamExchange& exchange, UpstreamRequest request) {
  auto head = SerializeHead(shared_->address, request);
  if (!head.ok()) return head.status();
  exchange.state_ = std::make_unique<UpstreamExchange::State>(shared_);
  UpstreamExchange::State& state = *exchange.state_;
  state.outgoing.head = *std::move(head);
  state.outgoing.body = std::move(request.body);
  state.outgoing.switches = request.switches;
  state.no_body = request.method == "HEAD";
  if (state.no_body) state.NewParser();
  if (request.repeatable) state.connection = shared_->TakeIdle();
  if (!state.connection) return std::nullopt;
  state.reused = true;
  state.outgoing.error = state.WriteNow();
  if (state.outgoing.error) return std::nullopt;
  return absl::OkStatus();
}

asio::awaitable<absl::Status> UpstreamPool::FinishSend(UpstreamExchange& exchange, Duration timeout) {
  const TimeLeft left(timeout);
  UpstreamExchange::State& state = *exchange.state_;
  if (state.connection) {
    ErrorCode error = state.outgoing.error;
    if (error == asio::error::would_block) error = co_await state.WriteRest(left.value());
    if (!error || state.Answers(error)) co_return absl::OkStatus();
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
