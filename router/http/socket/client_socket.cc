#include "router/http/socket/client_socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

namespace penstock {
namespace asio = boost::asio;

ClientSocket::ClientSocket(asio::io_context& loop, int socket, const TlsContext* tls, Duration dead_peer)
    : loop_(loop), socket_(loop, *this), self_(std::make_shared<ClientSocket*>(this)) {
  const ErrorCode failed = socket_.Adopt(socket);
  if (failed) return;
  socket_.SetTcpOptions(dead_peer);
  if (tls != nullptr) socket_.AcceptTls(*tls);
}

ClientSocket::~ClientSocket() { *self_ = nullptr; }

void ClientSocket::Skip(asio::mutable_buffer scratch, size_t count) {
  while (count > 0) {
    const ssize_t taken = ::recv(socket_.descriptor(), scratch.data(), std::min(count, scratch.size()), MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;
    count -= static_cast<size_t>(taken);
  }
}

// Bytes that TLS began to send go before all others.
size_t ClientSocket::WriteSome(std::span<const asio::const_buffer> buffers, ErrorCode& ec, Push push) {
  while (!owed_.empty()) {
    const asio::const_buffer owed = asio::buffer(owed_);
    const size_t sent = socket_.WriteSome({&owed, 1}, ec);
    if (ec) return 0;
    owed_.erase(0, sent);
  }
  return socket_.WriteSome(buffers, ec, push);
}

size_t ClientSocket::WriteOrOwe(absl::string_view bytes, ErrorCode& ec) {
  const bool owing = !owed_.empty();
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  const size_t count = WriteSome({&buffer, 1}, ec);
  if (ec != asio::error::would_block || !secure() || owing) return count;
  owed_ = std::string(bytes);
  ec = ErrorCode();
  return bytes.size();
}

uint64_t ClientSocket::Untaken() const {
  int bytes = 0;
  return ::ioctl(socket_.descriptor(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

template <class Then>
void ClientSocket::Later(Then then) {
  asio::post(loop_, [self = self_, then] {
    if (*self != nullptr) then();
  });
}

// A task announces input that may be there already, so no waiter is called within AwaitInput.
void ClientSocket::AwaitInput(InputWaiter& waiter) {
  waiter_ = &waiter;
  if (waiting_ || !open()) return;
  waiting_ = true;
  if (socket_.may_read()) Later([this] { EndWait(); });
}

void ClientSocket::Forget(const InputWaiter& waiter) {
  if (waiter_ == &waiter) waiting_ = false;
}

void ClientSocket::EndWait() {
  if (!std::exchange(waiting_, false)) return;
  waiter_->OnInput();
}

// The coroutine that writes may destroy this object.
void ClientSocket::OnReady() {
  if (writer_.waiting() && socket_.may_write()) {
    const std::shared_ptr<ClientSocket*> self = self_;
    writer_.Resume();
    if (*self == nullptr) return;
  }
  if (socket_.may_read()) EndWait();
}

asio::awaitable<ClientSocket::ErrorCode> ClientSocket::AwaitRoom() {
  const auto wake = [this] { Later([this] { writer_.Resume(); }); };
  const auto begin = [this, wake] {
    if (!open() || socket_.may_write()) wake();
  };
  co_await writer_.Wait(begin, wake);
  co_return open() ? ErrorCode() : ErrorCode(asio::error::operation_aborted);
}

StreamSocket& ClientSocket::Lend() {
  waiting_ = false;
  return socket_;
}

void ClientSocket::Close() {
  socket_.Close();
  waiting_ = false;
  if (writer_.waiting()) Later([this] { writer_.Resume(); });
}

}  // namespace penstock
