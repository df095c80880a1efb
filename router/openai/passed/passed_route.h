// The configured route of a request, and the model that its target names. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_ROUTE_H_
#define PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_ROUTE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/values/client_config.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/route/routes.h"

namespace penstock {

// The rule for a request. Null with methods in `allow`: only these are routed there. Null without: nothing is. A route
// for one path goes before routes for all paths below another. A path with a part . or .., also in escapes, has none.
const RouteConfig* FindPassedRoute(const std::vector<RouteConfig>& routes, absl::string_view method,
                                   absl::string_view target, std::string* allow);

// The parts of RouteConfig::model.
struct ModelSource {
  enum class Kind : uint8_t { kBody, kQuery, kFixed };
  Kind kind = Kind::kBody;
  absl::string_view name;  // A view into the rule.
};
ModelSource SourceOf(const RouteConfig& route);

// The memory of an engine that its requests need.
Endpoint EndpointOf(const RouteConfig& route);

// The place of a parameter's value in a target, escapes unresolved; unset when absent. `twice`: it occurs again.
std::optional<JsonSpan> FindParameter(absl::string_view target, absl::string_view name, bool* twice);

// The target for an engine, with `value` in place of the bytes at `at`. Its special characters become escapes.
std::string WithParameter(absl::string_view target, JsonSpan at, absl::string_view value);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_PASSED_PASSED_ROUTE_H_
