// The answer to a request that became a WebSocket: the bytes of both sides pass until one ends.
//
// The lease of the request lasts as long. Lives in the coroutine of the attempt. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_SWITCHED_SWITCHED_ANSWER_H_
#define PENSTOCK_ROUTER_SESSION_SWITCHED_SWITCHED_ANSWER_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "backends/transport/connection.h"
#include "router/realtime/tunnel.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"

namespace penstock {

class SwitchedAnswer {
 public:
  explicit SwitchedAnswer(SessionState& state) : state_(state) {}

  // Awaited once. `headers` are for the client. Whatever ends the tunnel, the answer is finished: its client knows why
  // its own protocol ended.
  boost::asio::awaitable<AttemptEnd> Run(std::shared_ptr<Connection> engine, HeaderList headers);
  // Ends Run() soon, also while its client has not taken the head.
  void Stop() {
    stopped_ = true;
    if (tunnel_) tunnel_->Stop();
  }

 private:
  SessionState& state_;
  std::optional<Tunnel> tunnel_;
  bool stopped_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_SWITCHED_SWITCHED_ANSWER_H_
