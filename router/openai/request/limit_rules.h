// The output limit of a request, as the engines of its model read it. Pure.
#ifndef PENSTOCK_ROUTER_OPENAI_REQUEST_LIMIT_RULES_H_
#define PENSTOCK_ROUTER_OPENAI_REQUEST_LIMIT_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/dialect/endpoint.h"
#include "base/units.h"
#include "router/openai/error/api_error.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {

// A limit that stands in the body, whether or not an engine of the model reads it.
struct GivenLimit {
  absl::string_view field;       // Static.
  std::optional<int64_t> value;  // Unset: the value that means no limit.
  JsonSpan at;                   // The place of the value.
  bool operator==(const GivenLimit&) const = default;
};
using GivenLimits = absl::InlinedVector<GivenLimit, 1>;

// The most tokens that any of the engines may generate: of several limits that one engine reads, the largest. Zero: an
// engine has no limit. A limit of no tokens counts as one, because the engine still makes a step.
Tokens MostOutput(const GivenLimits& given, Endpoint endpoint, absl::Span<const OutputLimits> engines);

// The refusal of a value that means no limit to other engines only. None: an engine of the model takes it so, or no
// engine reads it.
std::optional<ApiError> CheckUnlimited(const GivenLimits& given, Endpoint endpoint,
                                       absl::Span<const OutputLimits> engines);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_REQUEST_LIMIT_RULES_H_
