// One client connection: reads requests, writes answers, and notices when the client goes.
//
// A coroutine, Serve(), reads a request, has it handled, and goes on while the connection is kept alive. While a
// request is handled the socket is watched, so a client that leaves is noticed at once. Bytes of pipelined requests
// wait in the reader. A client that half-closes counts as gone. Writes are tried at once and wait for room with a
// deadline; a client that takes nothing for limits.write_timeout is gone. Shared by Serve() and pending waits; belongs
// to one loop.
#ifndef PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_
#define PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/transport/tls.h"
#include "config/config.h"
#include "router/http/request_reader.h"
#include "router/live/deadlines.h"
#include "router/live/event_loop.h"
#include "router/live/signal.h"
#include "router/session/client.h"

namespace penstock {

class ClientConnection final : public LoopConnection, public std::enable_shared_from_this<ClientConnection> {
 public:
  enum class Use : uint8_t {
    kClient,
    kAdmin,  // Metrics and health, on their own listener.
    kSpare,  // The router is full: one request, which is refused unless it is for metrics or health.
  };
  // `tls` null: in the clear. It is needed during the call only.
  ClientConnection(EventLoop& loop, LoopSocket socket, Use use, const TlsContext* tls = nullptr);
  ~ClientConnection();

  // Until the connection ends. Never throws out. The caller's coroutine keeps the object alive.
  boost::asio::awaitable<void> Serve();

  // Writes what the client takes at once and leaves the rest in `buffers`. Costs no coroutine.
  Written WriteNow(std::span<boost::asio::const_buffer>& buffers);
  // Writes all. False: the client is gone.
  boost::asio::awaitable<bool> Write(std::vector<boost::asio::const_buffer> buffers);
  // Writes without waiting. False: nothing was written, because there is no room. Taking only a part, or an error, ends
  // the connection.
  bool WriteSmall(absl::string_view bytes);

  // Calls `on_gone` once if the client leaves before Unwatch.
  void Watch(std::function<void()> on_gone);
  void Unwatch() { on_gone_ = nullptr; }
  bool gone() const { return gone_; }
  bool admin() const { return use_ == Use::kAdmin; }
  bool spare() const { return use_ == Use::kSpare; }

  // Memory of a body that was served, for the next request's.
  void Reuse(std::string body) { reader_.Reuse(std::move(body)); }

  void Close() override;
  void CloseIfIdle() override;

 private:
  enum class Read { kBytes, kEnd, kTimeout };

  class Busy;

  // One system call in the clear; never waits.
  size_t ReadSome(boost::system::error_code& ec);
  size_t WriteSome(std::span<const boost::asio::const_buffer> buffers, boost::system::error_code& ec);
  boost::asio::awaitable<bool> StartTls();
  boost::asio::awaitable<bool> ReadRequest();
  void LogSurprise(absl::string_view what);
  boost::asio::awaitable<Read> ReadMore(Duration timeout);
  boost::asio::awaitable<void> FailRead(const ApiError& error);
  boost::asio::awaitable<void> Linger();
  Duration ReadTimeout();
  void AwaitReadable();
  void OnReadable();
  void PollWhileWatching();
  void MarkGone();
  void OnWriteTimeout();

  EventLoop& loop_;
  LoopSocket socket_;
  std::unique_ptr<TlsSession> tls_;  // Null: in the clear.
  std::string owed_;                 // A small write that TLS took and could not send yet.
  const Use use_;
  const LimitsConfig limits_;
  RequestReader reader_;
  Signal readable_;
  CoarseDeadline read_deadline_;
  CoarseDeadline write_deadline_;
  std::function<void()> on_gone_;
  Instant head_began_;
  bool first_ = true;
  bool wait_pending_ = false;
  bool unread_ = true;  // There may be input that no edge (backends/pool/readiness.h) would tell.
  bool reading_ = false;
  bool timed_out_ = false;
  bool gone_ = false;
  bool busy_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CLIENT_CONNECTION_H_
