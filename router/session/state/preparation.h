// The checks that a request passes before the core hears of it: caller, body, class and model. No I/O, no waiting.
#ifndef PENSTOCK_ROUTER_SESSION_STATE_PREPARATION_H_
#define PENSTOCK_ROUTER_SESSION_STATE_PREPARATION_H_

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "base/ids.h"
#include "config/values/client_config.h"
#include "kvmodel/prompt/input_estimate.h"
#include "router/core/contract/event.h"
#include "router/fleet/tenants.h"
#include "router/live/fleet_view.h"
#include "router/live/key_counts.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/header_rules.h"
#include "router/openai/request/request_scan.h"
#include "router/openai/route/routes.h"
#include "router/openai/route/target.h"
#include "router/session/state/inside_request.h"
#include "router/telemetry/request_record.h"
#include "router/tracing/request_trace.h"

namespace penstock {

// A request as its client hands it over. Headers and body stay with the client until the session has ended.
struct SessionRequest {
  Endpoint endpoint = Endpoint::kChat;
  const HeaderList* headers = nullptr;
  absl::string_view body;
  std::string id;                                      // x-request-id.
  boost::asio::ip::address client_address;             // Behind trusted proxies. Unspecified: unknown.
  uint64_t peer = 0;                                   // The account of a caller without a key.
  const InsideRequest* inside = nullptr;               // Set: the router itself asks. Outlives the session.
  std::shared_ptr<const RouteConfig> route = nullptr;  // The rule of a configured path. Null: another path.
  absl::string_view method = "POST";
  absl::string_view target = "";                  // Path and query at the engine. Empty: the endpoint's path.
  absl::string_view stored_id = "";               // For a stored response.
  absl::string_view client_path = "";             // As the client wrote it. Empty: the endpoint's.
  std::unique_ptr<RequestTrace> trace = nullptr;  // Null: the request belongs to no trace.
  RequestRecord* record = nullptr;                // Null, or filled in at the end.
  bool may_detach = false;                        // The session may outlive the answer to its client.

  // The path at an engine.
  absl::string_view path() const { return target.empty() ? TraitsOf(endpoint).path : PathOf(target); }
};

// The facts of a request that passed. Of one that did not: those that were found before the error.
struct PreparedRequest {
  RequestFacts facts;
  Caller caller;
  std::optional<KeyCounts::Place> place_of_key;  // Empty: the key is not bounded, or the last bytes go out.
  ClassChoice service_class;
  StorageNeed storage = StorageNeed::kUnsaid;  // As its client declared.
  ModelId model;
  std::optional<ReplicaId> home;  // The only replica that can serve it: that keeps a response.
};

// The name by which the fleet knows a model that a client names; the client's own where it knows none. A view of
// either.
absl::string_view ModelNameIn(const FleetView& fleet, absl::string_view name);

// The checks in their order; each fills its part of `prepared`, and an error ends the request. The caller scans the
// body in between.
std::optional<ApiError> CheckPath(const SessionRequest& request, absl::string_view pseudonym);
// Headers that steer the request and contradict each other.
std::optional<ApiError> CheckSteering(const SessionRequest& request);
std::optional<ApiError> CheckCaller(const SessionRequest& request, const FleetView& fleet, PreparedRequest& prepared);
std::optional<ApiError> CheckKey(const SessionRequest& request, const FleetView& fleet, KeyCounts& keys,
                                 PreparedRequest& prepared);
std::optional<ApiError> CheckBody(const SessionRequest& request, const FleetView& fleet,
                                  std::variant<RequestFacts, ApiError> scanned, PreparedRequest& prepared);
// In place of CheckBody, for a stored response.
std::optional<ApiError> CheckStoredRequest(const SessionRequest& request, const FleetView& fleet,
                                           PreparedRequest& prepared);

// The prompt for its estimate. The family of its model follows from the name that the client uses.
InputCounts InputOf(const RequestFacts& facts);
// True: the answer has no tokens, or no step explains the time until the first one.
bool MayBeSilent(Endpoint endpoint, const RequestFacts& facts);
// Outputs that advance together: choices times prompts.
int64_t SequencesOf(Endpoint endpoint, const RequestFacts& facts);
// The event for the core, without id, prompt tokens and their spread.
RequestArrived ArrivalOf(const SessionRequest& request, const PreparedRequest& prepared, const FleetView& fleet);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_STATE_PREPARATION_H_
