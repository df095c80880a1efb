// The tokens of the text that an engine is to continue, by its own count: an event may have held several. The tokens of
// the prompt before that text, where the engine that broke off never reported them.
//
// A coroutine of the session's loop. Costs one request without admission; each of its steps waits for a second at most.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_TEXT_COUNTING_H_
#define PENSTOCK_ROUTER_SESSION_STATE_TEXT_COUNTING_H_

#include <boost/asio/awaitable.hpp>
#include <optional>

#include "backends/dialect/headers.h"
#include "backends/transport/upstream.h"
#include "router/session/state/session_state.h"

namespace penstock {

// Asks on `exchange`, which is new, with these headers. Unset: the engine counts no texts, or not this one.
boost::asio::awaitable<std::optional<Tokens>> CountByEngine(const SessionState& state, UpstreamPool& pool,
                                                            UpstreamExchange& exchange, HeaderList headers);
// The same for the prompt of the request. Unset also: an engine reported it, or the prompt is more than text.
boost::asio::awaitable<std::optional<Tokens>> CountPromptByEngine(const SessionState& state, UpstreamPool& pool,
                                                                  UpstreamExchange& exchange, HeaderList headers);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_TEXT_COUNTING_H_
