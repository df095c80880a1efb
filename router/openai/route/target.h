// The parts of a request's target: path and query. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_ROUTE_TARGET_H_
#define PENSTOCK_ROUTER_OPENAI_ROUTE_TARGET_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// The path and the query of a target, without scheme and host.
absl::string_view OriginForm(absl::string_view target);
// `target` may carry a query or be in absolute form.
absl::string_view PathOf(absl::string_view target);

// The first parameter of the name, decoded; nullopt: there is none, or its escapes are broken.
std::optional<std::string> QueryParameter(absl::string_view target, absl::string_view name);

// Nullopt: an escape is broken. A plus stays a plus.
std::optional<std::string> PercentDecode(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ROUTE_TARGET_H_
