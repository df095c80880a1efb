// A short answer of an engine, read to its end.
//
// A coroutine of the session's loop. An engine may reset the connection behind its error: the bytes before that count.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_SHORT_BODY_H_
#define PENSTOCK_ROUTER_SESSION_STATE_SHORT_BODY_H_

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "backends/transport/upstream.h"
#include "router/session/state/session_state.h"

namespace penstock {

struct ShortBody {
  std::string bytes;
  bool fits = true;     // False: it is longer than wanted, or the budget of answers has no room. Then `bytes` is empty.
  absl::Status status;  // The end of the reading.
};

// `exchange` has given its head.
boost::asio::awaitable<ShortBody> ReadShortBody(const SessionState& state, UpstreamExchange& exchange, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_SHORT_BODY_H_
