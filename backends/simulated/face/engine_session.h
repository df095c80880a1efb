// One connection of a simulated engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_FACE_ENGINE_SESSION_H_
#define PENSTOCK_BACKENDS_SIMULATED_FACE_ENGINE_SESSION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "backends/simulated/engine/engine.h"

namespace penstock::simulated {

// Serves requests until the client closes the connection, is idle for 5 s, or breaks the protocol.
boost::asio::awaitable<void> ServeConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<Engine> engine);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_FACE_ENGINE_SESSION_H_
