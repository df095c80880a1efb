#include "backends/socket/stream_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <utility>

#include "backends/socket/dead_peer.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// Pieces per write. More are rare, and go with the next call.
constexpr size_t kPieces = 16;

// The kernel tells of room when a third of all that it holds is gone. Megabytes of unsent bytes would hide for a minute
// that a slow peer reads.
constexpr int kUnsent = 128 << 10;

boost::system::error_code SystemError(int number) {
  if (number == EAGAIN || number == EWOULDBLOCK) return asio::error::would_block;
  return {number, boost::system::system_category()};
}

bool IsTcp(int family) { return family == AF_INET || family == AF_INET6; }

}  // namespace

bool IsLocalShortage(const boost::system::error_code& error) {
  if (error.category() != boost::system::system_category()) return false;
  constexpr std::array<int, 6> kLocal = {EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL, ENOSPC};
  return std::find(kLocal.begin(), kLocal.end(), error.value()) != kLocal.end();
}

StreamSocket::ErrorCode StreamSocket::Adopt(int socket) {
  socket_ = socket;
  int family = AF_UNSPEC;
  socklen_t size = sizeof(family);
  tcp_ = getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && IsTcp(family);
  const ErrorCode error = readiness_.Enter(socket, /*connected=*/true);
  if (error) Close();
  return error;
}

StreamSocket::ErrorCode StreamSocket::Connect(const SocketAddress& address) {
  const int family = address.protocol().family();
  socket_ = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return SystemError(errno);
  tcp_ = IsTcp(family);
  if (::connect(socket_, address.data(), static_cast<socklen_t>(address.size())) != 0 && errno != EINPROGRESS) {
    return {errno, boost::system::system_category()};
  }
  return readiness_.Enter(socket_, /*connected=*/false);
}

StreamSocket::ErrorCode StreamSocket::ConnectResult() {
  if (!readiness_.room()) return asio::error::would_block;
  int number = 0;
  socklen_t size = sizeof(number);
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
  return {number, boost::system::system_category()};
}

void StreamSocket::SetTcpOptions(Duration limit) {
  if (!tcp_) return;
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof(kUnsent));
  DetectDeadPeer(socket_, limit);
}

StreamSocket::ErrorCode StreamSocket::Handshake() {
  if (!is_open()) return asio::error::bad_descriptor;
  const ErrorCode error = tls_->Handshake();
  if (error == asio::error::would_block) tls_->wants_write() ? readiness_.RoomTaken() : readiness_.InputTaken();
  return error;
}

// OpenSSL knows the number of the descriptor, and another socket may have the number of a closed one.
size_t StreamSocket::ReadSome(asio::mutable_buffer into, ErrorCode& error) {
  if (tls_ == nullptr) return ReadClear(into, error);
  error = asio::error::bad_descriptor;
  if (!is_open()) return 0;
  const size_t count = tls_->ReadSome(into, error);
  read_needs_room_ = error == asio::error::would_block && tls_->wants_write();
  if (error == asio::error::would_block) readiness_.InputTaken();
  if (read_needs_room_) readiness_.RoomTaken();
  return count;
}

// A read of fewer bytes than asked for has emptied the socket. Later bytes are a new event; an end that came with these
// is in the mask.
size_t StreamSocket::ReadClear(asio::mutable_buffer into, ErrorCode& error) {
  ssize_t count = 0;
  do {
    count = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  error = ErrorCode();
  if (count < 0) error = SystemError(errno);
  if (count == 0) error = asio::error::eof;
  if (count < static_cast<ssize_t>(into.size())) readiness_.InputTaken();
  return count > 0 ? static_cast<size_t>(count) : 0;
}

// The bytes stay in the socket, so the next event comes with further ones.
size_t StreamSocket::Peek(asio::mutable_buffer into, size_t seen, ErrorCode& error) {
  ssize_t count = 0;
  do {
    count = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT | MSG_PEEK);
  } while (count < 0 && errno == EINTR);
  error = ErrorCode();
  if (count < 0) error = SystemError(errno);
  if (count == 0) error = asio::error::eof;
  if (count > 0 && static_cast<size_t>(count) <= seen) error = asio::error::would_block;
  if (error) readiness_.InputTaken();
  return count > 0 ? static_cast<size_t>(count) : 0;
}

size_t StreamSocket::WriteSome(std::span<const asio::const_buffer> buffers, ErrorCode& error, Push push) {
  if (tls_ == nullptr) return WriteClear(buffers, error, push);
  error = asio::error::bad_descriptor;
  if (!is_open()) return 0;
  const size_t count = tls_->WriteSome(buffers, error);
  write_needs_input_ = error == asio::error::would_block && !tls_->wants_write();
  if (error == asio::error::would_block) readiness_.RoomTaken();
  if (write_needs_input_) readiness_.InputTaken();
  return count;
}

size_t StreamSocket::WriteClear(std::span<const asio::const_buffer> buffers, ErrorCode& error, Push push) {
  std::array<iovec, kPieces> pieces;
  const size_t used = std::min(buffers.size(), kPieces);
  size_t all = 0;
  for (size_t i = 0; i < used; ++i) {
    pieces[i] = {const_cast<void*>(buffers[i].data()), buffers[i].size()};
    all += buffers[i].size();
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = used;
  error = ErrorCode();
  if (all == 0) return 0;
  const bool late = tcp_ && push == Push::kWithTurn && readiness_.pushes().Takes(all);
  ssize_t count = 0;
  do {
    count = ::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (late ? MSG_MORE : 0));
  } while (count < 0 && errno == EINTR);
  if (late && count > 0) readiness_.pushes().Note(socket_);
  if (count < 0) error = SystemError(errno);
  if (count < static_cast<ssize_t>(all)) readiness_.RoomTaken();
  return count > 0 ? static_cast<size_t>(count) : 0;
}

bool StreamSocket::HasInput(bool& quiet) {
  quiet = false;
  if (!is_open()) return false;
  char byte;
  bool some = false;
  if (tls_ != nullptr) {
    some = tls_->HasInput(quiet);
  } else {
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    quiet = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    some = got > 0;
  }
  if (quiet) readiness_.InputTaken();
  return some;
}

void StreamSocket::ShutDownSend() {
  if (tls_ != nullptr) tls_->Close();
  if (is_open()) ::shutdown(socket_, SHUT_WR);
}

void StreamSocket::Close() {
  if (!is_open()) return;
  readiness_.Mute();
  readiness_.pushes().PushNow(socket_);
  ::close(std::exchange(socket_, -1));
}

}  // namespace penstock
