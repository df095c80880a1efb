// A request that the router itself makes for a tenant, such as a line of a batch: no socket and no key.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_INSIDE_REQUEST_H_
#define PENSTOCK_ROUTER_SESSION_STATE_INSIDE_REQUEST_H_

#include <string>

#include "backends/dialect/usage.h"
#include "router/fleet/tenants.h"

namespace penstock {

// Learns the places of a session. Called on the session's loop, and not after its Run().
class SessionObserver {
 public:
  // It goes to an engine.
  virtual void OnForward() = 0;
  // It waits again.
  virtual void OnRequeue() = 0;
  // Its answer is whole.
  virtual void OnAnswered(const Usage& usage) = 0;

 protected:
  ~SessionObserver() = default;
};

// The client of such a request gathers its answer. So the engine is asked for a stream where a cut answer could be
// continued; the client gets the events, or one whole answer. A body that asks for a stream itself is refused.
struct InsideRequest {
  Caller caller;
  std::string service_class;  // The name of a class of the present configuration.
  SessionObserver* observer = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_INSIDE_REQUEST_H_
