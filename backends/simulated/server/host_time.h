// The time of a request in the API server of a simulated engine, before it waits for a step.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SERVER_HOST_TIME_H_
#define PENSTOCK_BACKENDS_SIMULATED_SERVER_HOST_TIME_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "backends/simulated/engine/engine_spec.h"

namespace penstock::simulated {

// A client that leaves meanwhile is noticed behind it.
boost::asio::awaitable<void> PassApiServer(const EngineSpec& spec, boost::asio::any_io_executor executor);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SERVER_HOST_TIME_H_
