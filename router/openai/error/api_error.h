// Errors as OpenAI clients understand them: one value that drives status, headers and body.
//
// Pure. The error table (router/openai/error/error_table.h) gives every error its status, type, code, hint and label.
// Every answer has all four keys of the error object: {"error":{"message","type","param","code"}}.
#ifndef PENSTOCK_ROUTER_OPENAI_ERROR_API_ERROR_H_
#define PENSTOCK_ROUTER_OPENAI_ERROR_API_ERROR_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/engine_error.h"
#include "base/units.h"
#include "router/core/contract/action.h"
#include "router/core/contract/view.h"
#include "router/labels/labels.h"
#include "router/openai/error/error_table.h"

namespace penstock {

struct ApiError {
  int status = http_status::kBadRequest;
  std::string message;
  std::string detail;  // For the log; the client does not get it.
  std::string type = std::string(kInvalidRequest);
  std::string param;                       // Empty: null.
  std::string code;                        // Empty: null.
  std::optional<Duration> retry_after;     // Sent as whole seconds (at least 1) and as retry-after-ms.
  bool never_retry = false;                // x-should-retry: false.
  std::string allow;                       // For kWrongMethod.
  std::optional<BadInput> bad_input;       // The metric's label, for errors of the client.
  std::optional<AllowanceView> allowance;  // The rest of the tenant's limits, for the headers.
  std::string reason;                      // The label of a refusal or an engine error; x-penstock-reason.
};

// The error of one row of the table. `param`: the field that it is about.
ApiError MakeError(ErrorName name, absl::string_view message, absl::string_view param = "");
// The answer to a refusal of the core. `model` is the name the client used.
ApiError FromRefusal(const Refuse& refuse, absl::string_view model);
// Keys are configured, and the request has no key at all.
ApiError MissingKey();
// The router ends before the request does.
ApiError CutByShutdown();
// An engine's own error about the request, with its status. A denied key is the router's fault, not the client's.
ApiError FromEngine(const EngineError& error);
// The engine answered with something impossible, or not at all.
ApiError EngineFailure(EngineErrorKind kind, absl::string_view message);

// At the door: every connection that may be open is, or all memory for bodies is taken.
ApiError TooManyConnections();
ApiError NoBodyMemory();

// {"error":{...}}
std::string ErrorBody(const ApiError& error);
// The same as the last events of a stream: the error, then [DONE].
std::string ErrorEvents(const ApiError& error);

// `text` as a JSON string literal with its quotes; invalid UTF-8 is replaced.
std::string JsonQuote(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_OPENAI_ERROR_API_ERROR_H_
