// The HTTP face of one simulated engine: a listener and one coroutine for each connection.
//
// Runs on one io_context and one thread, together with the engine and its StepClock. A closed connection aborts its
// request at once, streamed or not, running or waiting. A real llama-server notices this late for a request without a
// stream. Idle connections are closed after 5 s, as both engines do. The dialect of llama-server
// closes the connection after a streamed answer.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SERVER_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "backends/simulated/engine/engine.h"
#include "backends/simulated/server/engine_session.h"

namespace penstock::simulated {

class EngineServer {
 public:
  // `ranks` share the address: a request may name its rank.
  EngineServer(boost::asio::io_context& context, Engines ranks);

  // Binds and listens. Port 0 takes a free port. Unavailable when the address cannot be bound.
  absl::Status Listen(const boost::asio::ip::tcp::endpoint& endpoint);
  // The engine dies: its listener and all connections close, and it forgets what it had. Listen() starts it again.
  void Die();
  boost::asio::ip::tcp::endpoint address() const { return address_; }
  const Engine& engine() const { return *ranks_.front(); }

 private:
  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint address_;
  Engines ranks_;
  std::shared_ptr<OpenSockets> open_ = std::make_shared<OpenSockets>();
  const EngineStores stores_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SERVER_H_
