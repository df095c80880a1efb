// A non-blocking stream socket of one loop, TCP or unix, in the clear or with TLS, with its readiness.
//
// The socket owns the descriptor. No call waits. may_read() and may_write() say whether a call is worth a try.
// Otherwise the owner hears OnReady(), once per event, and looks again. Cost in the clear: one system call per read and
// per write, no allocation. Belongs to the loop's thread. The owner outlives the socket, or is replaced before it ends.
#ifndef PENSTOCK_BACKENDS_SOCKET_STREAM_SOCKET_H_
#define PENSTOCK_BACKENDS_SOCKET_STREAM_SOCKET_H_

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <span>
#include <string>

#include "backends/socket/late_push.h"
#include "backends/socket/readiness.h"
#include "backends/socket/tls.h"
#include "base/units.h"

namespace penstock {

// The address of a TCP or a unix socket.
using SocketAddress = boost::asio::generic::stream_protocol::endpoint;

// True for errors of this machine: descriptors, memory or local ports are exhausted. They say nothing about the peer.
bool IsLocalShortage(const boost::system::error_code& error);

class StreamSocket {
 public:
  using ErrorCode = boost::system::error_code;
  using Owner = Readiness::Owner;

  StreamSocket(boost::asio::io_context& loop, Owner& owner) : readiness_(loop, owner) {}
  ~StreamSocket() { Close(); }
  StreamSocket(const StreamSocket&) = delete;
  StreamSocket& operator=(const StreamSocket&) = delete;

  void SetOwner(Owner& owner) { readiness_.SetOwner(owner); }

  // Takes a connected, non-blocking socket over. Once, instead of Connect(). The descriptor is closed on errors, too.
  ErrorCode Adopt(int socket);
  // Opens a socket and begins to connect it. No error: wait for OnReady(), then ask ConnectResult().
  ErrorCode Connect(const SocketAddress& address);
  // would_block: not connected yet.
  ErrorCode ConnectResult();
  // Small writes go out at once, and the kernel holds few unsent bytes, so that room tells that the peer reads. A peer
  // that is gone without a packet is an error after `limit`. TCP only.
  void SetTcpOptions(Duration limit);

  // The sessions of TLS begin with Handshake(). would_block: wait for OnReady().
  void AcceptTls(const TlsContext& context) { tls_ = TlsSession::Accept(context, socket_); }
  void ConnectTls(const TlsContext& context, const std::string& name) {
    tls_ = TlsSession::Connect(context, socket_, name);
  }
  ErrorCode Handshake();
  const TlsSession* tls() const { return tls_.get(); }

  // would_block: no bytes yet. eof: orderly end. Other errors are final.
  size_t ReadSome(boost::asio::mutable_buffer into, ErrorCode& error);
  // Before Handshake(): looks at the first bytes and takes none. would_block: only `seen` bytes are there. eof: the
  // peer ended first.
  size_t Peek(boost::asio::mutable_buffer into, size_t seen, ErrorCode& error);
  // would_block: no room; with TLS, the same bytes go first next time. Other errors are final. TLS pushes at once.
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, ErrorCode& error, Push push = Push::kNow);
  // False: OnReady() announces the next bytes, room, or the end.
  bool may_read() const { return readiness_.input() || (read_needs_room_ && readiness_.room()); }
  bool may_write() const { return readiness_.room() || (write_needs_input_ && readiness_.input()); }
  // The peer sends nothing more, though bytes before that may be unread. Needs no read.
  bool peer_ended() const { return readiness_.ended(); }
  // The connection was reset, or both sides are closed.
  bool broken() const { return readiness_.broken(); }
  // True when ReadSome() has bytes or an end. May cost a system call; takes nothing.
  bool HasInput(bool& quiet);

  bool is_open() const { return socket_ >= 0; }
  int descriptor() const { return socket_; }
  void ShutDownSend();
  void Close();

 private:
  size_t ReadClear(boost::asio::mutable_buffer into, ErrorCode& error);
  size_t WriteClear(std::span<const boost::asio::const_buffer> buffers, ErrorCode& error, Push push);

  int socket_ = -1;
  bool tcp_ = false;
  bool read_needs_room_ = false;     // TLS has to write before it can read on.
  bool write_needs_input_ = false;   // TLS has to read before it can write on.
  std::unique_ptr<TlsSession> tls_;  // Null: in the clear.
  Readiness readiness_;
};

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_SOCKET_STREAM_SOCKET_H_
