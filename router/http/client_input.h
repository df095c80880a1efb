// Reads the requests of one client connection within their deadlines, and watches the client between them.
//
// Next() reads while nobody watches; Watch() reads ahead while a request is handled, so a client that leaves is noticed
// at once. Bytes of pipelined requests wait in the reader. A client that half-closes counts as gone, and so does one
// that sends too much ahead. A client that sends without a pause lets others run after each turn. Belongs to one
// connection and its loop; one coroutine uses it.
#ifndef PENSTOCK_ROUTER_HTTP_CLIENT_INPUT_H_
#define PENSTOCK_ROUTER_HTTP_CLIENT_INPUT_H_

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "config/config.h"
#include "router/http/peer/proxy_header.h"
#include "router/http/request/request_reader.h"
#include "router/http/socket/client_socket.h"
#include "router/live/deadlines.h"
#include "router/live/event_loop.h"
#include "router/live/loop_turn.h"
#include "router/live/signal.h"
#include "router/openai/error/api_error.h"

namespace penstock {

class ClientInput final : private ClientSocket::InputWaiter {
 public:
  enum class Event {
    kHead,     // The head of a request is complete, its body is not. Call Next() for the body, or Take() without it.
    kPiece,    // A part of a body that is read in pieces is there: head().body, until the next call of Next().
    kRequest,  // A request is complete. Take() it.
    kFailed,   // The bytes make no request, or came too slowly: error(). No further request can be read.
    kHttp2,    // The connection speaks HTTP/2: see reader().
    kEnd,      // The client has ended, or was silent between requests.
  };

  struct Manner {
    bool in_a_hurry = false;  // Each wait is short.
    bool http2 = false;       // The connection may begin with the preface of HTTP/2.
  };
  struct Options {
    Manner manner;
    uint64_t peer = 0;  // The account of buffered bytes until a key is known.
    // The largest body of a request with this head; null: limits.max_body.
    std::function<BodyBound(const RequestHead&)> max_body = nullptr;
  };
  // `on_gone` runs when the client leaves during a watch.
  ClientInput(EventLoop& loop, ClientSocket& socket, const LimitsConfig& limits, const Options& options,
              std::function<void()> on_gone);

  // Before all else. kNeedMore: no whole header came; a part that came is counted.
  boost::asio::awaitable<ProxyHeader> TakeProxyHeader();
  // The account of buffered bytes from now on. Before the first request.
  void SetPeer(uint64_t peer) { reader_.SetPeer(peer); }
  // False: the handshake failed, and the fault is counted.
  boost::asio::awaitable<bool> StartTls();
  boost::asio::awaitable<Event> Next();
  const ApiError& error() const { return *error_; }
  ClientRequest Take() { return reader_.Take(); }
  // After kHead.
  const ClientRequest& head() { return reader_.head(); }
  // The client waits for leave to send its body.
  bool AwaitsContinue() { return head().expects_continue && reader_.unread().empty(); }
  // For the account and the use of the present body, and after kHttp2 for the bytes that were read.
  RequestReader& reader() { return reader_; }
  // No part of a request has arrived.
  bool Idle() const { return reader_.Idle(); }

  void Watch();
  void Unwatch() { watching_ = false; }
  // Drops what comes until the client ends, at most so long.
  boost::asio::awaitable<void> Drain(Duration longest);
  // The request of which a part has arrived ends with this error.
  void Refuse(ApiError error);
  // Makes the coroutine see that the socket was closed.
  void OnClosed() { readable_.Notify(); }

 private:
  enum class Read { kBytes, kEnd, kTimeout };

  void OnInput() override;
  void ReadAhead();
  boost::asio::awaitable<Read> ReadMore(Duration timeout);
  boost::asio::awaitable<void> AwaitBytes();
  boost::asio::awaitable<void> EndTurn();
  Event Fail(ApiError error);
  bool refused() const { return error_ != nullptr; }
  // Zero or less: the client is too slow.
  Duration ReadTimeout();
  Duration BodyTimeout(Instant now);

  EventLoop& loop_;
  ClientSocket& socket_;
  const LimitsConfig& limits_;
  const Manner manner_;
  const std::function<void()> on_gone_;
  RequestReader reader_;
  std::unique_ptr<const ApiError> error_;  // Set by kFailed.
  Signal readable_;
  CoarseDeadline deadline_;
  LoopTurn turn_;
  Instant began_;  // The beginning of the present head or body.
  bool first_ = true;
  bool reading_ = false;
  bool watching_ = false;
  bool timed_out_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_CLIENT_INPUT_H_
