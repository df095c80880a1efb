// The answer to a request that is half sent when the router begins to drain.
#ifndef PENSTOCK_ROUTER_HTTP_REQUEST_DRAIN_REFUSAL_H_
#define PENSTOCK_ROUTER_HTTP_REQUEST_DRAIN_REFUSAL_H_

#include "router/openai/error/api_error.h"

namespace penstock {

inline ApiError RefusedByDrain() {
  ApiError error = CutByShutdown();
  error.message = "The router is shutting down, and does not wait for the rest of this request.";
  return error;
}

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_HTTP_REQUEST_DRAIN_REFUSAL_H_
