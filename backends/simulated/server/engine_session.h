// One connection of a simulated engine.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SESSION_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SESSION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <set>

#include "backends/simulated/engine/engine.h"
#include "backends/simulated/handover/kept_caches.h"
#include "backends/simulated/responses/response_store.h"

namespace penstock::simulated {

// The sockets of an engine's connections.
using OpenSockets = std::set<boost::asio::ip::tcp::socket*>;

// The memory of an engine beside its batch.
struct EngineStores {
  std::shared_ptr<ResponseStore> responses;
  std::shared_ptr<KeptCaches> kept;
};

// Serves requests until the client closes the connection, is idle for 5 s, or breaks the protocol.
boost::asio::awaitable<void> ServeConnection(boost::asio::ip::tcp::socket socket, Engines ranks,
                                             std::shared_ptr<OpenSockets> open, EngineStores stores);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_ENGINE_SESSION_H_
