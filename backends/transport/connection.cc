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
// An engine whose host is gone. A busy one acknowledges what it has not read yet.
constexpr Duration kDeadPeer = Duration::Seconds(30);
constexpr size_t kKeptCarry = 1 << 10;

// Whatever is in it is parsed before anything else of the thread runs.
std::array<char, 64 << 10>& ThreadBuffer() {
  static thread_local std::array<char, 64 << 10> buffer;
  return buffer;
}
}  // namespace

// The handler of a wait. When the loop is destroyed it goes without being called, and takes who waits along.
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
    : socket_(loop.get_executor()), timer_(loop.get_executor()), open_(std::move(open)) {
  ++*open_;
}

Connection::~Connection() { --*open_; }

asio::awaitable<Connection::ErrorCode> Connection::Connect(std::vector<asio::ip::tcp::endpoint> endpoints,
                                                           Duration timeout) {
  ErrorCode result = asio::error::host_not_found;
  Arm(timeout);
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
    if (!result || expired_ || result == asio::error::operation_aborted) break;
  }
  Disarm();
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
  Arm(timeout);
  ErrorCode result = WriteNow(buffers);
  while (result == asio::error::would_block) {
    auto [error] = co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, kAwait);
    result = error ? Outcome(error) : WriteNow(buffers);
  }
  Disarm();
  co_return result;
}

void Connection::AwaitInput(Duration timeout, Waiter& waiter) {
  Arm(timeout);
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

// An event may be of bytes that were read before it was told.
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
  Disarm();
  if (waited) return Outcome(waited);
  if (input_.size() >= kInputLimit) return asio::error::no_buffer_space;
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
  Arm(timeout);
  while (!error) {
    error = tls_->Handshake();
    if (error != asio::error::would_block) break;
    error = co_await AwaitTls();
  }
  Disarm();
  co_return Outcome(error);
}

asio::awaitable<Connection::ErrorCode> Connection::AwaitTls() {
  const auto what = tls_->wants_write() ? asio::ip::tcp::socket::wait_write : asio::ip::tcp::socket::wait_read;
  auto [error] = co_await socket_.async_wait(what, kAwait);
  co_return error;
}

Connection::ErrorCode Connection::ReadInput() {
  std::array<char, 64 << 10>& buffer = ThreadBuffer();
  const size_t room = std::min(buffer.size(), kInputLimit - input_.size());
  ErrorCode error;
  const asio::mutable_buffer into(buffer.data(), room);
  size_t count = 0;
  if (tls_ != nullptr) {
    count = tls_->ReadSome(into, error);
    more_ = !error && count == room;
  } else {
    count = ReadNow(socket_.native_handle(), into, more_, error);
  }
  if (error) return error;
  if (input_.empty()) {
    if (carry_.capacity() > kKeptCarry) std::string().swap(carry_);
    input_ = absl::string_view(buffer.data(), count);
    in_carry_ = false;
    return error;
  }
  carry_.erase(0, static_cast<size_t>(input_.data() - carry_.data()));
  carry_.append(buffer.data(), count);
  input_ = carry_;
  return error;
}

void Connection::Consume(size_t count) {
  input_.remove_prefix(count);
  if (in_carry_ || input_.empty()) return;
  carry_.assign(input_.data(), input_.size());
  input_ = carry_;
  in_carry_ = true;
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
  if (input_size() > 0) return true;
  if (tls_ != nullptr) {
    bool quiet = false;
    more_ = tls_->HasInput(quiet);  // Decrypted already: the socket need not have more.
    return more_;
  }
  char byte;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Connection::Close() {
  ErrorCode ignored;
  socket_.close(ignored);
}

void Connection::Arm(Duration timeout) {
  expired_ = false;
  if (timeout >= Duration::Infinite()) return Disarm();
  deadline_ = Clock::now() + std::chrono::nanoseconds(std::max<int64_t>(0, timeout.nanoseconds()));
  if (!waiting_ || armed_for_ > deadline_) StartTimer();
}

void Connection::StartTimer() {
  waiting_ = true;
  armed_for_ = deadline_;
  timer_.expires_at(armed_for_);
  timer_.async_wait([self = weak_from_this()](const ErrorCode& error) {
    if (auto connection = self.lock()) connection->OnTimer(error);
  });
}

void Connection::OnTimer(const ErrorCode& error) {
  if (error) return;  // Replaced by an earlier wait.
  waiting_ = false;
  if (deadline_ == Clock::time_point::max()) return;
  if (Clock::now() < deadline_) return StartTimer();
  expired_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);
}

Connection::ErrorCode Connection::Outcome(const ErrorCode& error) {
  if (error == asio::error::operation_aborted && expired_) return asio::error::timed_out;
  return error;
}

}  // namespace penstock
