// Events and actions as text, one line each: a recorded run of a core can be replayed and compared byte for byte.
//
// A line is the time in nanoseconds, the kind, and the fields in declaration order, separated by spaces. Strings are
// percent-encoded. Doubles read back to the same bits. Pure; no I/O.
#ifndef PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_LOG_H_
#define PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_LOG_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "router/core/contract/action.h"
#include "router/core/contract/event.h"

namespace penstock {

std::string FormatEvent(Instant at, const Event& event);
std::string FormatAction(Instant at, const Action& action);

// The inverse of FormatEvent. InvalidArgument for anything else.
absl::StatusOr<std::pair<Instant, Event>> ParseEvent(absl::string_view line);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_CORE_CONTRACT_EVENT_LOG_H_
