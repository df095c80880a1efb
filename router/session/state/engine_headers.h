// The headers of a request to the engine that has it now.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_ENGINE_HEADERS_H_
#define PENSTOCK_ROUTER_SESSION_STATE_ENGINE_HEADERS_H_

#include "backends/dialect/headers.h"
#include "base/ids.h"
#include "router/session/state/session_state.h"

namespace penstock {

// `request`: the id at the core. The engine of SessionState::replica() is recognised.
HeaderList EngineHeaders(const SessionState& state, RequestId request);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_ENGINE_HEADERS_H_
