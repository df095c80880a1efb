// Errors and keep-alive events as clients of Anthropic's dialect understand them.
//
// {"type":"error","error":{"type","message"},"request_id"}. The status is that of the error table; the type follows
// from it. Pure.
#ifndef PENSTOCK_ROUTER_ANTHROPIC_ERROR_FORM_H_
#define PENSTOCK_ROUTER_ANTHROPIC_ERROR_FORM_H_

#include <string>

#include "absl/strings/string_view.h"
#include "router/openai/error/api_error.h"

namespace penstock {

// The error type of a status: overloaded_error, rate_limit_error and so on.
absl::string_view AnthropicType(int status);

std::string AnthropicErrorBody(const ApiError& error, absl::string_view request_id);
// The same as the last event of a stream.
std::string AnthropicErrorEvent(const ApiError& error, absl::string_view request_id);

// Shows a waiting client that the router lives.
inline constexpr absl::string_view kAnthropicPing = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

// The part of docs/errors.md about this form.
std::string AnthropicErrorReference();

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_ANTHROPIC_ERROR_FORM_H_
