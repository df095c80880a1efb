// The checks of requests that need what a replica keeps: a stored response, or one that goes on with it.
//
// A replica is found by its marks in the id (router/responses): at the same address under any name, else by its name.
// O(replicas), two digests each. Pure.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_STORED_RESPONSE_H_
#define PENSTOCK_ROUTER_SESSION_STATE_STORED_RESPONSE_H_

#include <optional>

#include "router/live/fleet_view.h"
#include "router/openai/error/api_error.h"
#include "router/responses/response_id.h"
#include "router/session/state/preparation.h"

namespace penstock {

// The marks of an engine in the ids of responses that it keeps.
ReplicaMarks MarksOf(const EngineAccess& engine);
// Checks `background` and what a body goes on from. Sets `home` where a replica keeps that.
std::optional<ApiError> CheckContinuation(const SessionRequest& request, const FleetView& fleet,
                                          PreparedRequest& prepared);
// Checks a request for a stored response. Sets `home`, and the model that records name.
std::optional<ApiError> CheckStored(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_STORED_RESPONSE_H_
