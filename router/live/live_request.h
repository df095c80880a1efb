// One request that waits or runs, as pages show it. A value.
#ifndef PENSTOCK_ROUTER_LIVE_LIVE_REQUEST_H_
#define PENSTOCK_ROUTER_LIVE_LIVE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "router/core/contract/wait_reason.h"

namespace penstock {

struct LiveRequest {
  RequestId id;
  std::string request_id;  // x-request-id.
  std::string endpoint;
  std::string model;
  std::string service_class;
  std::string tenant;   // Configured name; empty: anonymous.
  std::string replica;  // It has the request since the last forward; empty before it.
  std::string prefill;  // It computes the prompt, or did; empty: the replica above.
  bool waiting = true;
  std::optional<WaitReason> reason;  // The last one that it waited for.
  Duration age;                      // Since its arrival.
  Duration waited;                   // Until the last forward.
  Duration expected_ttft;            // As of the last forward.
  double peak_share = 0;             // As of the last forward.
  Tokens prompt_estimate{0};
  Tokens max_output{0};  // 0: the client set none.
  Tokens output{0};      // At the client.
  int attempts = 0;
};

// The oldest requests of one loop.
struct LoopCensus {
  std::vector<LiveRequest> waiting;
  std::vector<LiveRequest> running;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_LIVE_LIVE_REQUEST_H_
