// A connection that speaks HTTP/2: feeds the session, starts the handler of each stream, and ends.
//
// A coroutine, Serve(), reads and yields to others after each turn of work. Each request runs in a coroutine of its
// own, with the handler and the limits of HTTP/1.1. A handler hears of a lost client behind the
// call of the session, so within a turn of the loop. Belongs to one loop; Serve() returns after all of its streams.
#ifndef PENSTOCK_ROUTER_HTTP_HTTP2_CONNECTION_H_
#define PENSTOCK_ROUTER_HTTP_HTTP2_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/fair_budget.h"
#include "router/http/exchange/request_service.h"
#include "router/http/http2/outbox.h"
#include "router/http/http2/session.h"
#include "router/http/http2/stream.h"
#include "router/http/http2/stream_host.h"
#include "router/http/http2/stream_table.h"
#include "router/http/socket/client_socket.h"
#include "router/live/deadlines.h"
#include "router/live/loop_turn.h"
#include "router/live/signal.h"

namespace penstock::http2 {

class Connection final : private StreamHost, private ClientSocket::InputWaiter {
 public:
  // All parts outlive it.
  struct Parts {
    EventLoop& loop;
    ClientSocket& socket;
    LoopConnection& member;  // The loop knows the connection by it.
    RequestService& service;
    const LimitsConfig& limits;
  };
  Connection(const Parts& parts, const ClientPeer& peer, ClientChannel::Use use);
  // The socket lives on, and may have a wait for input pending.
  ~Connection() { parts_.socket.Forget(*this); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until the connection ends. `begun`: the bytes that were read, from the preface on.
  boost::asio::awaitable<void> Serve(std::string begun);
  // Takes no further request, and ends behind the last one.
  void Leave();
  // The socket was closed.
  void OnSocketClosed();
  // The streams that have no whole answer yet.
  int answers() const { return static_cast<int>(streams_.size()); }

 private:
  EventLoop& loop() override { return parts_.loop; }
  const LimitsConfig& limits() const override { return parts_.limits; }
  Session& session() override { return session_; }
  void Flush() override;
  void OnChange(StreamId stream) override;
  uint64_t Untaken() const override { return outbox_.Untaken(); }

  void OnInput() override { wake_.Resume(); }

  boost::asio::awaitable<void> Read();
  // Feeds the session. The rest of `bytes` waits in rest_ when the turn is over.
  void Take(absl::string_view bytes);
  // Starts handlers that can begin, and reports lost clients to theirs.
  void RunDue();
  boost::asio::awaitable<void> Answer(std::shared_ptr<Stream> stream, StreamId id);
  boost::asio::awaitable<void> Handle(Stream& stream);
  void Forget(StreamId stream);
  // The time that the client may stay silent. Zero or less: it is over.
  Duration Patience() const;
  void CountFault();

  const Parts parts_;
  const ClientPeer peer_;
  const ClientChannel::Use use_;
  StreamTable streams_;
  Session session_;
  Outbox outbox_;
  FairShare memory_;
  std::vector<StreamId> due_;
  std::string rest_;  // Bytes that were read, and not taken yet.
  Signal wake_;
  CoarseDeadline deadline_;
  LoopTurn turn_;
  Instant idle_since_;
  struct State {
    bool idle = true;         // No stream is open.
    bool served = false;      // There was a request.
    bool in_session = false;  // The session runs.
    bool leaving = false;
  } state_;
};

}  // namespace penstock::http2

#endif  // PENSTOCK_ROUTER_HTTP_HTTP2_CONNECTION_H_
