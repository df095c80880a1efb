// The socket of one client, in the clear or under TLS: reads and writes that never wait, and the waits for both.
//
// Belongs to one connection and its loop. At most one wait for input is pending. A wait ends with one call of its
// waiter, unless the socket was closed or destroyed before. A read or write in the clear is one system call; a wait is
// none and allocates nothing.
#ifndef PENSTOCK_ROUTER_HTTP_SOCKET_CLIENT_SOCKET_H_
#define PENSTOCK_ROUTER_HTTP_SOCKET_CLIENT_SOCKET_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/socket/late_push.h"
#include "backends/socket/stream_socket.h"
#include "backends/socket/suspended.h"
#include "backends/socket/tls.h"
#include "base/units.h"

namespace penstock {

class ClientSocket final : private Readiness::Owner {
 public:
  using ErrorCode = boost::system::error_code;

  class InputWaiter {
   public:
    // There may be input, an end or an error. It may destroy the socket.
    virtual void OnInput() = 0;

   protected:
    ~InputWaiter() = default;
  };

  // Takes over the connected, non-blocking descriptor `socket`; it is closed where this machine lacks the memory. `tls`
  // null: in the clear. It is needed during the call only. A host that acknowledges nothing for `dead_peer` is gone.
  ClientSocket(boost::asio::io_context& loop, int socket, const TlsContext* tls, Duration dead_peer);
  ~ClientSocket();
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  // would_block: AwaitInput tells when to try again. eof: the client has ended its side.
  size_t ReadSome(boost::asio::mutable_buffer into, ErrorCode& ec) { return socket_.ReadSome(into, ec); }
  // Before all else, under TLS too: looks at bytes in the clear / takes bytes that were seen. would_block: no more than
  // `seen` bytes are there.
  size_t Peek(boost::asio::mutable_buffer into, size_t seen, ErrorCode& ec) { return socket_.Peek(into, seen, ec); }
  void Skip(boost::asio::mutable_buffer scratch, size_t count);
  // would_block: AwaitRoom tells when to try again. Owed bytes go first.
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, ErrorCode& ec, Push push = Push::kNow);
  // Writes a few bytes without a wait. would_block: none were taken. Under TLS the bytes may be owed instead.
  size_t WriteOrOwe(absl::string_view bytes, ErrorCode& ec);

  // Bytes that were written and that the client's machine has not taken; 0 where that is unknown. Costs a system call.
  uint64_t Untaken() const;

  // TLS only. would_block: try again after input, or after room if wants_write().
  ErrorCode Handshake() { return socket_.Handshake(); }
  bool wants_write() const { return socket_.tls()->wants_write(); }
  bool secure() const { return socket_.tls() != nullptr; }

  // Calls `waiter` once. While a wait is pending, only its waiter changes. A waiter that may end before the socket does
  // says so by Forget.
  void AwaitInput(InputWaiter& waiter);
  // The waiter is called no more.
  void Forget(const InputWaiter& waiter);
  bool waiting() const { return waiting_; }
  // The client sends nothing more, though bytes before that may be unread. Known without a read.
  bool ended() const { return socket_.peer_ended(); }
  // operation_aborted: the socket was closed. One caller at a time.
  boost::asio::awaitable<ErrorCode> AwaitRoom();

  // The socket, for another protocol: this object hears nothing of it any more. A write has gone through before.
  StreamSocket& Lend();

  // Ends this side; the client may still send.
  void EndSending() { socket_.ShutDownSend(); }
  void Close();
  bool open() const { return socket_.is_open(); }

 private:
  void OnReady() override;
  void OnLoopEnd() override {}
  void EndWait();
  // Runs `then` from a task of the loop, unless this object is gone by then.
  template <class Then>
  void Later(Then then);

  boost::asio::io_context& loop_;
  StreamSocket socket_;
  std::string owed_;  // A small write that TLS took and could not send yet.
  InputWaiter* waiter_ = nullptr;
  bool waiting_ = false;
  Suspended writer_;
  std::shared_ptr<ClientSocket*> self_;  // Tasks share it. It becomes null when the socket is destroyed.
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_SOCKET_CLIENT_SOCKET_H_
