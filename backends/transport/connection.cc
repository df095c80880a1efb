#include "backends/transport/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <span>
#include <utility>

#include "backends/socket/connector.h"

namespace penstock {
namespace asio = boost::asio;

namespace {
// The limit for a host that is gone. A busy host still acknowledges bytes.
constexpr Duration kDeadPeer = Duration::Seconds(30);

// Its bytes are parsed before other code of the thread runs.
std::array<char, 64 << 10>& ThreadBuffer() {
  static thread_local std::array<char, 64 << 10> buffer;
  return buffer;
}
}  // namespace

Connection::Connection(asio::io_context& loop, std::shared_ptr<size_t> open)
    : loop_(loop), deadline_(loop, [this] { EndWait(asio::error::timed_out); }), open_(std::move(open)) {
  ++*open_;
}

Connection::~Connection() { --*open_; }

asio::awaitable<Connection::ErrorCode> Connection::Connect(std::vector<SocketAddress> addresses, Duration timeout) {
  Connector connector(loop_);
  ErrorCode error;
  socket_ = co_await connector.Connect(std::move(addresses), timeout, error);
  if (socket_ == nullptr) co_return error;
  socket_->SetOwner(*this);
  socket_->SetTcpOptions(kDeadPeer);
  co_return ErrorCode();
}

Connection::ErrorCode Connection::WriteNow(std::vector<asio::const_buffer>& buffers) {
  ErrorCode error;
  size_t first = 0;
  while (first < buffers.size() && !error) {
    const auto left = std::span<const asio::const_buffer>(buffers).subspan(first);
    size_t count = socket_->WriteSome(left, error, Push::kWithTurn);
    while (first < buffers.size() && count >= buffers[first].size()) count -= buffers[first++].size();
    if (first < buffers.size()) buffers[first] += count;
    if (first < buffers.size() && !error && !socket_->may_write()) error = asio::error::would_block;
  }
  buffers.erase(buffers.begin(), buffers.begin() + static_cast<std::ptrdiff_t>(first));
  return error;
}

asio::awaitable<Connection::ErrorCode> Connection::Write(std::vector<asio::const_buffer> buffers, Duration timeout,
                                                         absl::FunctionRef<bool()> stop) {
  deadline_.Arm(timeout);
  ErrorCode result = WriteNow(buffers);
  ErrorCode waited;
  while (result == asio::error::would_block) {
    // Input that came before the wait is announced by no further event.
    if (!has_more()) waited = co_await AwaitSocket();
    if (waited) {
      result = waited;
    } else if (has_more() && stop()) {
      result = asio::error::interrupted;
    } else {
      result = WriteNow(buffers);
    }
  }
  deadline_.Disarm();
  co_return result;
}

asio::awaitable<Connection::ErrorCode> Connection::StartTls(const TlsContext& context, const std::string& name,
                                                            Duration timeout) {
  socket_->ConnectTls(context, name);
  deadline_.Arm(timeout);
  ErrorCode error = socket_->Handshake();
  while (error == asio::error::would_block) {
    error = co_await AwaitSocket();
    if (!error) error = socket_->Handshake();
  }
  deadline_.Disarm();
  co_return error;
}

// Waits for any event; the caller tries again.
asio::awaitable<Connection::ErrorCode> Connection::AwaitSocket() {
  const auto begin = [this] {
    ++wait_;
    if (!socket_->is_open()) CancelWait();
  };
  co_await suspended_.Wait(begin, [this] { CancelWait(); });
  co_return woken_by_;
}

void Connection::AwaitInput(Duration timeout, Waiter& waiter) {
  deadline_.Arm(timeout);
  ++wait_;
  waiter_ = &waiter;
  if (!socket_->is_open()) return CancelWait();
  if (has_more()) EndWait(ErrorCode());
}

void Connection::OnReady() {
  if (suspended_.waiting() || socket_->may_read()) Wake(ErrorCode());
}

void Connection::Wake(const ErrorCode& error) {
  if (waiter_ != nullptr) {
    std::exchange(waiter_, nullptr)->OnInput(error);
  } else if (suspended_.waiting()) {
    woken_by_ = error;
    suspended_.Resume();
  }
}

void Connection::OnLoopEnd() {
  if (waiter_ != nullptr) {
    std::exchange(waiter_, nullptr)->OnLoopEnd();
  } else {
    suspended_.Destroy();
  }
}

void Connection::EndWait(const ErrorCode& error) {
  if (waiter_ == nullptr && !suspended_.waiting()) return;
  asio::post(loop_, [weak = weak_from_this(), wait = wait_, error] {
    const auto connection = weak.lock();
    if (connection == nullptr || connection->wait_ != wait) return;
    const LoopTurns::Scope scope(LoopTurns::Of(connection->loop_));
    connection->Wake(error);
  });
}

void Connection::CancelWait() { EndWait(asio::error::operation_aborted); }

Connection::ErrorCode Connection::TakeInput(const ErrorCode& waited) {
  deadline_.Disarm();
  if (waited && waited != asio::error::timed_out) return waited;
  // After a time in which the loop stood still, a deadline comes before the news of bytes that were in time.
  const ErrorCode read = ReadInput();
  return waited && read == asio::error::would_block ? waited : read;
}

Connection::ErrorCode Connection::ReadInput() {
  if (input_.view().size() >= kInputLimit) return asio::error::no_buffer_space;
  auto& buffer = ThreadBuffer();
  const size_t room = std::min(buffer.size(), kInputLimit - input_.view().size());
  ErrorCode error;
  const size_t count = socket_->ReadSome(asio::mutable_buffer(buffer.data(), room), error);
  if (!error) input_.Append(absl::string_view(buffer.data(), count));
  return error;
}

bool Connection::Quiet() {
  if (!socket_->may_read()) return true;
  bool quiet = false;
  socket_->HasInput(quiet);
  return quiet;
}

bool Connection::HasInput() {
  if (!input().empty()) return true;
  bool quiet = false;
  return socket_->HasInput(quiet);
}

void Connection::Close() {
  if (socket_ == nullptr) return;
  socket_->Close();
  EndWait(asio::error::operation_aborted);
}

}  // namespace penstock
