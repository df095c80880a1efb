// One ended request as the edge saw it.
#ifndef PENSTOCK_ROUTER_TELEMETRY_REQUEST_RECORD_H_
#define PENSTOCK_ROUTER_TELEMETRY_REQUEST_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "router/labels/labels.h"

namespace penstock {

// Unknown durations stay unset.
struct RequestRecord {
  std::string request_id;     // x-request-id; for the log, never a label.
  std::string endpoint;       // One of kEndpointLabels.
  std::string model;          // Empty when the request named none.
  std::string service_class;  // Name of its class.
  std::string tenant;         // Configured name; empty: anonymous.
  std::string replica;        // Empty when it reached none.
  RequestOutcome outcome = RequestOutcome::kOk;
  std::string reason;  // Label of the Refusal, BadInput or EngineErrorKind; empty when all went well.
  int status = 0;      // HTTP status of the answer, or the one of a client that left before it.
  bool streamed = false;
  Tokens prompt_estimate{0};
  Tokens prompt{0};  // From usage; 0: unknown.
  Tokens output{0};
  int64_t active_tokens = 0;
  int64_t late_tokens = 0;
  int64_t abandoned_tokens = 0;
  std::optional<Duration> queue_wait;  // Set for requests that were forwarded or waited.
  std::optional<Duration> ttft;        // From arrival to the first token at the client; streamed answers only.
  std::optional<Duration> tpot;        // (last - first token) / (tokens - 1).
  std::optional<Duration> total;       // From arrival to the last byte.

  // The prompt tokens that an engine computed. Without usage, they are the estimate once there is output.
  Tokens ComputedPrompt() const {
    if (prompt > Tokens(0)) return prompt;
    return output > Tokens(0) ? prompt_estimate : Tokens(0);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_TELEMETRY_REQUEST_RECORD_H_
