#include "backends/pool/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/pool/dead_peer.h"

namespace penstock {
namespace asio = boost::asio;

namespace {
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr size_t kInputStart = 16 << 10;
// An engine whose host is gone. A busy one acknowledges what it has not read yet.
constexpr Duration kDeadPeer = Duration::Seconds(30);
}  // namespace

Connection::Connection(asio::io_context& loop, std::shared_ptr<size_t> open)
    : socket_(loop.get_executor()), timer_(loop.get_executor()), open_(std::move(open)), input_(kInputStart) {
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
    if (!result || expired_ || result == asio::error::operation_aborted) break;
  }
  Disarm();
  co_return result;
}

asio::awaitable<Connection::ErrorCode> Connection::Write(std::vector<asio::const_buffer> buffers, Duration timeout) {
  Arm(timeout);
  auto [error, written] = co_await asio::async_write(socket_, buffers, kAwait);
  Disarm();
  co_return Outcome(error);
}

asio::awaitable<Connection::ErrorCode> Connection::ReadMore(Duration timeout) {
  if (!MakeRoom()) co_return asio::error::no_buffer_space;
  Arm(timeout);
  auto [error, count] =
      co_await socket_.async_read_some(asio::buffer(input_.data() + end_, input_.size() - end_), kAwait);
  Disarm();
  end_ += count;
  co_return Outcome(error);
}

bool Connection::MakeRoom() {
  if (begin_ > 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ < input_.size()) return true;
  if (input_.size() >= kInputLimit) return false;
  input_.resize(std::min(input_.size() * 2, kInputLimit));
  return true;
}

bool Connection::Quiet() {
  char byte;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool Connection::HasInput() {
  if (input_size() > 0) return true;
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
