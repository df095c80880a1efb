#include "backends/transport/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <span>
#include <utility>

#include "backends/transport/dead_peer.h"
#include "backends/transport/readiness.h"

namespace penstock {
namespace asio = boost::asio;

namespace {
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// The limit for a host that is gone. A busy host still acknowledges bytes.
constexpr Duration kDeadPeer = Duration::Seconds(30);

// Its bytes are parsed before other code of the thread runs.
std::array<char, 64 << 10>& ThreadBuffer() {
  static thread_local std::array<char, 64 << 10> buffer;
  return buffer;
}
}  // namespace

// The handler of a wait. When the loop is destroyed, the handler ends without a call and reports that to the waiter.
class Connection::Wait {
 public:
  explicit Wait(std::weak_ptr<Connection> connection) : connection_(std::move(connection)) {}
  Wait(Wait&&) = default;
  Wait& operator=(Wait&&) = delete;
  ~Wait() {
    const auto connection = connection_.lock();
    if (connection && connection->waiter_ != nullptr) std::exchange(connection->waiter_, nullptr)->OnLoopEnd();
  }
  void operator()(const ErrorCode& error, size_t = 0) {
    if (const auto connection = std::exchange(connection_, {}).lock()) connection->OnWaited(error);
  }

 private:
  std::weak_ptr<Connection> connection_;
};

Connection::Connection(asio::io_context& loop, std::shared_ptr<size_t> open)
    : socket_(loop.get_executor()), deadline_(loop, [this] { CancelWait(); }), open_(std::move(open)) {
  ++*open_;
}

Connection::~Connection() { --*open_; }

asio::awaitable<Connection::ErrorCode> Connection::Connect(std::vector<asio::ip::tcp::endpoint> endpoints,
                                                           Duration timeout) {
  ErrorCode result = asio::error::host_not_found;
  deadline_.Arm(timeout);
  for (const asio::ip::tcp::endpoint& endpoint : endpoints) {
    ErrorCode ignored;
    socket_.close(ignored);
    socket_.open(endpoint.protocol(), result);
    if (result) continue;
    auto [error] = co_await socket_.async_connect(endpoint, kAwait);
    result = Outcome(error);
    if (!result) socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    if (!result) DetectDeadPeer(socket_.native_handle(), kDeadPeer);
    if (!result) TellLeftInput(socket_.native_handle());
    if (!result) socket_.non_blocking(true, ignored);
    if (!result || deadline_.expired() || result == asio::error::operation_aborted) break;
  }
  deadline_.Disarm();
  co_return result;
}

Connection::ErrorCode Connection::WriteNow(std::vector<asio::const_buffer>& buffers) {
  ErrorCode error;
  size_t first = 0;
  while (first < buffers.size() && !error) {
    const auto rest = std::span<const asio::const_buffer>(buffers).subspan(first);
    size_t count = tls_ != nullptr ? tls_->WriteSome(rest, error) : socket_.write_some(rest, error);
    while (first < buffers.size() && count >= buffers[first].size()) count -= buffers[first++].size();
    if (first < buffers.size()) buffers[first] += count;
  }
  buffers.erase(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(first));
  return error;
}

asio::awaitable<Connection::ErrorCode> Connection::Write(std::vector<asio::const_buffer> buffers, Duration timeout) {
  deadline_.Arm(timeout);
  ErrorCode result = WriteNow(buffers);
  while (result == asio::error::would_block) {
    auto [error] = co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, kAwait);
    result = error ? Outcome(error) : WriteNow(buffers);
  }
  deadline_.Disarm();
  co_return result;
}

void Connection::AwaitInput(Duration timeout, Waiter& waiter) {
  deadline_.Arm(timeout);
  waiter_ = &waiter;
  if (!pending_) BeginWait();
}

void Connection::BeginWait() {
  pending_ = true;
  if (tls_ != nullptr) {
    socket_.async_wait(asio::ip::tcp::socket::wait_read, Wait(weak_from_this()));
  } else {
    AsyncWaitEdge(socket_, Wait(weak_from_this()));
  }
}

void Connection::OnWaited(const ErrorCode& error) {
  pending_ = false;
  more_ = true;
  if (waiter_ != nullptr) {
    std::exchange(waiter_, nullptr)->OnInput(error);
  } else if (!error) {
    BeginIdle();
  }
}

// An event may announce bytes that an earlier read has taken.
void Connection::BeginIdle() {
  if (tls_ != nullptr || pending_) return;
  more_ = more_ && !SocketIsEmpty();
  if (!more_) BeginWait();
}

bool Connection::SocketIsEmpty() {
  char byte;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

Connection::ErrorCode Connection::TakeInput(const ErrorCode& waited) {
  deadline_.Disarm();
  if (waited) return Outcome(waited);
  if (input_.view().size() >= kInputLimit) return asio::error::no_buffer_space;
  return ReadInput();
}

void Connection::CancelWait() {
  ErrorCode ignored;
  socket_.cancel(ignored);
}

asio::awaitable<Connection::ErrorCode> Connection::StartTls(const TlsContext& context, const std::string& name,
                                                            Duration timeout) {
  ErrorCode error;
  socket_.non_blocking(true, error);
  tls_ = TlsSession::Connect(context, socket_.native_handle(), name);
  deadline_.Arm(timeout);
  while (!error) {
    error = tls_->Handshake();
    if (error != asio::error::would_block) break;
    error = co_await AwaitTls();
  }
  deadline_.Disarm();
  co_return Outcome(error);
}

asio::awaitable<Connection::ErrorCode> Connection::AwaitTls() {
  const auto what = tls_->wants_write() ? asio::ip::tcp::socket::wait_write : asio::ip::tcp::socket::wait_read;
  auto [error] = co_await socket_.async_wait(what, kAwait);
  co_return error;
}

Connection::ErrorCode Connection::ReadInput() {
  std::array<char, 64 << 10>& buffer = ThreadBuffer();
  const size_t room = std::min(buffer.size(), kInputLimit - input_.view().size());
  ErrorCode error;
  const asio::mutable_buffer into(buffer.data(), room);
  size_t count = 0;
  if (tls_ != nullptr) {
    count = tls_->ReadSome(into, error);
    more_ = !error && count == room;
  } else {
    count = ReadNow(socket_.native_handle(), into, more_, error);
  }
  if (!error) input_.Append(absl::string_view(buffer.data(), count));
  return error;
}

bool Connection::Quiet() {
  if (tls_ != nullptr) {
    bool quiet = false;
    tls_->HasInput(quiet);
    return quiet;
  }
  return pending_ && !more_;
}

bool Connection::HasInput() {
  if (!input().empty()) return true;
  if (tls_ != nullptr) {
    bool quiet = false;
    more_ = tls_->HasInput(quiet);  // Decrypted bytes: the socket may have none.
    return more_;
  }
  char byte;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Connection::Close() {
  ErrorCode ignored;
  socket_.close(ignored);
}

Connection::ErrorCode Connection::Outcome(const ErrorCode& error) {
  if (error == asio::error::operation_aborted && deadline_.expired()) return asio::error::timed_out;
  return error;
}

}  // namespace penstock
