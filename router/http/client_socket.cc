#include "router/http/client_socket.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "backends/socket/dead_peer.h"
#include "backends/transport/readiness.h"

namespace penstock {
namespace asio = boost::asio;

ClientSocket::ClientSocket(LoopSocket socket, const TlsContext* tls, Duration dead_peer)
    : socket_(std::move(socket)), self_(std::make_shared<ClientSocket*>(this)) {
  ErrorCode ec;
  socket_.non_blocking(true, ec);
  socket_.set_option(asio::ip::tcp::no_delay(true), ec);
  DetectDeadPeer(socket_.native_handle(), dead_peer);
  TellLeftInput(socket_.native_handle());
  if (tls != nullptr) tls_ = TlsSession::Accept(*tls, socket_.native_handle());
}

ClientSocket::~ClientSocket() { *self_ = nullptr; }

size_t ClientSocket::ReadSome(asio::mutable_buffer into, ErrorCode& ec) {
  if (tls_ != nullptr) return tls_->ReadSome(into, ec);
  return ReadNow(socket_.native_handle(), into, unread_, ec);
}

// Bytes that TLS began to send go before all others.
size_t ClientSocket::WriteSome(std::span<const asio::const_buffer> buffers, ErrorCode& ec) {
  if (tls_ == nullptr) return socket_.write_some(buffers, ec);
  while (!owed_.empty()) {
    const asio::const_buffer owed = asio::buffer(owed_);
    const size_t sent = tls_->WriteSome({&owed, 1}, ec);
    if (ec) return 0;
    owed_.erase(0, sent);
  }
  return tls_->WriteSome(buffers, ec);
}

size_t ClientSocket::WriteOrOwe(absl::string_view bytes, ErrorCode& ec) {
  const bool owing = !owed_.empty();
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  const size_t count = WriteSome({&buffer, 1}, ec);
  if (ec != asio::error::would_block || tls_ == nullptr || owing) return count;
  owed_ = std::string(bytes);
  ec = ErrorCode();
  return bytes.size();
}

void ClientSocket::AwaitInput(InputWaiter& waiter) {
  waiter_ = &waiter;
  if (waiting_ || !open()) return;
  waiting_ = true;
  auto on_waited = [self = self_](const ErrorCode& ec, size_t = 0) {
    if (*self != nullptr) (*self)->OnWaited(ec);
  };
  if (tls_ != nullptr) {
    socket_.async_wait(asio::ip::tcp::socket::wait_read, std::move(on_waited));
  } else if (unread_) {
    asio::post(socket_.get_executor(), [on_waited = std::move(on_waited)] { on_waited(ErrorCode()); });
  } else {
    AsyncWaitEdge(socket_, std::move(on_waited));
  }
}

void ClientSocket::OnWaited(const ErrorCode& ec) {
  waiting_ = false;
  unread_ = true;
  if (open() && ec != asio::error::operation_aborted) waiter_->OnInput();
}

asio::awaitable<ClientSocket::ErrorCode> ClientSocket::AwaitRoom() {
  ErrorCode ec;
  co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, asio::redirect_error(asio::use_awaitable, ec));
  co_return ec;
}

void ClientSocket::EndSending() {
  if (tls_ != nullptr) tls_->Close();
  ErrorCode ec;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ec);
}

void ClientSocket::Close() {
  ErrorCode ec;
  socket_.close(ec);
}

}  // namespace penstock
