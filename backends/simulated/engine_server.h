// The HTTP face of one simulated engine: a listener and one coroutine for each connection.
//
// Runs on one io_context that one thread drives, together with the engine and its StepClock. A connection that goes
// away aborts its request at once, streamed or not, running or waiting (llama-server would notice a non-streamed one
// late; here it is noticed in both dialects). Idle connections are closed after 5 s, as both engines do. After a
// streamed answer the llama-server dialect closes the connection.
#ifndef PENSTOCK_BACKENDS_SIMULATED_ENGINE_SERVER_H_
#define PENSTOCK_BACKENDS_SIMULATED_ENGINE_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "backends/simulated/engine.h"

namespace penstock::simulated {

class EngineServer {
 public:
  EngineServer(boost::asio::io_context& context, std::shared_ptr<Engine> engine);

  // Binds and listens; port 0 takes a free one. Unavailable when it cannot.
  absl::Status Listen(const boost::asio::ip::tcp::endpoint& endpoint);
  boost::asio::ip::tcp::endpoint address() const { return address_; }
  const Engine& engine() const { return *engine_; }

 private:
  boost::asio::io_context& context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint address_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_ENGINE_SERVER_H_
