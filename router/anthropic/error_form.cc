#include "router/anthropic/error_form.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "router/core/contract/refusal.h"
#include "router/openai/error/error_table.h"

namespace penstock {

absl::string_view AnthropicType(int status) {
  switch (status) {
    case http_status::kUnauthorized:
      return "authentication_error";
    case http_status::kForbidden:
      return "permission_error";
    case http_status::kNotFound:
      return "not_found_error";
    case http_status::kContentTooLarge:
      return "request_too_large";
    case http_status::kTooManyRequests:
      return "rate_limit_error";
    case http_status::kServiceUnavailable:
      return "overloaded_error";
    case http_status::kGatewayTimeout:
      return "timeout_error";
    default:
      return http_status::IsServerError(status) ? "api_error" : "invalid_request_error";
  }
}

// An engine's own type says more than the status that its error has here.
static absl::string_view TypeOf(const ApiError& error) {
  for (const absl::string_view type : {"overloaded_error", "api_error", "timeout_error", "billing_error"}) {
    if (error.type == type) return type;
  }
  return AnthropicType(error.status);
}

std::string AnthropicErrorBody(const ApiError& error, absl::string_view request_id) {
  return absl::StrCat("{\"type\":\"error\",\"error\":{\"type\":", JsonQuote(TypeOf(error)),
                      ",\"message\":", JsonQuote(error.message), "},\"request_id\":", JsonQuote(request_id), "}");
}

std::string AnthropicErrorEvent(const ApiError& error, absl::string_view request_id) {
  return absl::StrCat("event: error\ndata: ", AnthropicErrorBody(error, request_id), "\n\n");
}

std::string AnthropicErrorReference() {
  std::string text = R"(
## In Anthropic's form

Paths below `/v1/messages` answer every row above as `{"type": "error", "error": {"type", "message"}, "request_id"}`, with
the same status and headers. In mid-stream it is the last event, `event: error`. The type follows from the status:

| status | type |
|---|---|
)";
  std::set<int> statuses;
  for (const RefusalTraits& refusal : kRefusals) statuses.insert(refusal.status);
  for (int i = 0; i < kErrorCount; ++i) statuses.insert(RowOf(static_cast<ErrorName>(i)).status);
  statuses.erase(http_status::kClientClosedRequest);
  for (int status : statuses) absl::StrAppend(&text, "| ", status, " | `", AnthropicType(status), "` |\n");
  return text;
}

}  // namespace penstock
