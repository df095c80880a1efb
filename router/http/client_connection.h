// One client connection: has its requests handled, writes answers, and ends.
//
// A coroutine, Serve(), takes a request from the input, has it handled, and goes on while the connection is kept alive.
// A head that is refused gets its answer before its body is read. The handler of an upload takes its body in pieces.
// Writes are tried at once and wait for room as long as DrainWatch allows; then the client is gone. Serve() owns it;
// belongs to one loop.
#ifndef PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_
#define PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/socket/tls.h"
#include "config/config.h"
#include "router/http/client_input.h"
#include "router/http/client_upload.h"
#include "router/http/exchange/client_channel.h"
#include "router/http/peer/client_peer.h"
#include "router/http/socket/client_socket.h"
#include "router/http/socket/drain_watch.h"
#include "router/live/deadlines.h"
#include "router/live/event_loop.h"
#include "router/session/client/client.h"

namespace penstock {

namespace http2 {
class Connection;
}

class ClientConnection final : public LoopConnection, public ClientChannel {
 public:
  static constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

  // Takes over the descriptor `socket`. `tls` null: in the clear. It is needed during the call only.
  ClientConnection(EventLoop& loop, int socket, const ClientPeer& peer, Use use, const TlsContext* tls = nullptr);
  ~ClientConnection() override;
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Until the connection ends, in whichever version its client speaks. Never throws out. The caller's coroutine keeps
  // the object alive.
  boost::asio::awaitable<void> Serve();

  // A client that takes as fast as the router writes gets so many bytes per turn of the loop.
  static constexpr size_t kMostAtOnce = 1 << 20;
  // Writes what the client takes at once and leaves the rest in `buffers`. Costs no coroutine.
  Written WriteNow(std::span<boost::asio::const_buffer>& buffers, Push push = Push::kNow);
  // Writes all. False: the client is gone.
  boost::asio::awaitable<bool> Write(std::vector<boost::asio::const_buffer> buffers);
  // Writes without waiting. False: nothing was written, because there is no room. Taking only a part, or an error, ends
  // the connection.
  bool WriteSmall(absl::string_view bytes);

  // Calls `on_gone` once if the client leaves before Unwatch.
  void Watch(std::function<void()> on_gone);
  void Unwatch();
  // The socket for another protocol, which closes it. Only Watch() and Close() have a meaning from now on.
  LentSocket Lend() { return {&socket_.Lend(), std::string(input_.reader().unread())}; }
  bool gone() const { return gone_; }

  ClientUpload& upload() override { return upload_; }
  void Reuse(BodyBuffer body) override { input_.reader().Reuse(std::move(body)); }

  void Close() override;
  void CloseIfIdle() override;

 private:
  class Busy;

  // Reads the PROXY header of a trusted proxy, then agrees on TLS. False: the connection ends.
  boost::asio::awaitable<bool> Greet();
  // Takes the address that a PROXY header names. False: the header is bad, or that address has too many connections.
  bool TakeAddress(const ProxyHeader& header);
  // After the head alone. False: it is answered before the rest of its body is read.
  bool AdmitBody();
  // The connection has no whole head; `served`: it had a request before.
  void Wait(bool served);
  boost::asio::awaitable<void> FailRead(ApiError error);
  // Reads the rest of a body whose request was refused by its head.
  boost::asio::awaitable<void> DropRest();
  // The rest of the connection, in HTTP/2.
  boost::asio::awaitable<void> ServeHttp2();
  boost::asio::awaitable<void> Linger();
  void MarkGone();
  // The time of a wait for room is over. It goes on where the client took bytes meanwhile.
  void OnWriteDeadline();
  // The client takes nothing. A drain that does not wait for it cuts its answers.
  void CloseSlow();

  EventLoop& loop_;
  const std::shared_ptr<const LimitsConfig> limits_;
  ClientSocket socket_;
  ClientInput input_;
  ClientUpload upload_;
  DrainWatch drain_;
  CoarseDeadline write_deadline_;
  std::function<void()> on_gone_;
  std::unique_ptr<http2::Connection> http2_;  // Null: the client speaks HTTP/1.
  bool gone_ = false;
  bool busy_ = false;
  // Set where a part of a request came before the router drained. It counts until the client has its answer.
  std::unique_ptr<Busy> refusing_;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_
