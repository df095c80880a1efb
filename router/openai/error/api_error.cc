#include "router/openai/error/api_error.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string NullOr(absl::string_view text) { return text.empty() ? "null" : JsonQuote(text); }

std::string RefusalMessage(const Refuse& refuse, absl::string_view model) {
  switch (refuse.reason) {
    case Refusal::kContextExceeded:
      return absl::StrCat("This model's maximum context length is ", refuse.bound,
                          " tokens, but the request needs about ", refuse.value,
                          " tokens (prompt, and max_tokens where given). Shorten one of them.");
    case Refusal::kNeverFits:
      return absl::StrCat("The prompt needs about ", refuse.value,
                          " tokens of KV cache, more than any replica of this model has (", refuse.bound, ").");
    case Refusal::kUnknownModel:
      return absl::StrCat("The model `", model, "` does not exist or no replica serves it.");
    case Refusal::kInvalidKey:
      return "Incorrect API key provided.";
    case Refusal::kQueueFull:
      return absl::StrCat("The queue is full (bound ", refuse.bound, "). Retry later.");
    case Refusal::kDeadlineUnreachable:
      return "The first token can no longer arrive within the latency goal of this class. Retry later.";
    case Refusal::kQueueTimeout:
      return "The request waited for the whole queue time of its class. Retry later.";
    case Refusal::kNoReplica:
      if (refuse.unwoken) return absl::StrCat("The model `", model, "` sleeps, and could not be woken. Retry later.");
      return absl::StrCat("No replica of the model `", model, "` is up at the moment.");
    case Refusal::kShuttingDown:
      return "The router is shutting down.";
    case Refusal::kTenantTokens:
      return absl::StrCat("The limit of ", refuse.bound, " tokens per minute is used up; this request needs about ",
                          refuse.value, ". Retry later.");
    case Refusal::kTenantRequests:
      return absl::StrCat("The limit of ", refuse.bound, " requests at a time is reached. Retry when one has ended.");
    case Refusal::kAdapterFailed:
      return absl::StrCat("No engine could load the adapter `", model, "`. Retry later.");
  }
  return "Refused.";
}

std::string RefusalParam(Refusal reason) {
  switch (reason) {
    case Refusal::kUnknownModel:
      return "model";
    default:
      return "";
  }
}

}  // namespace

std::string JsonQuote(absl::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ApiError MakeError(ErrorName name, absl::string_view message, absl::string_view param) {
  const ErrorRow& row = RowOf(name);
  ApiError error;
  error.status = row.status;
  error.message = std::string(message);
  error.type = std::string(row.type);
  error.param = std::string(param);
  error.code = std::string(row.code);
  error.bad_input = row.bad_input;
  error.reason = std::string(row.label);
  if (row.retry == RetryHint::kAfter) error.retry_after = Duration::Seconds(1);
  error.never_retry = row.retry == RetryHint::kNever;
  return error;
}

ApiError FromRefusal(const Refuse& refuse, absl::string_view model) {
  const RefusalTraits& traits = TraitsOf(refuse.reason);
  ApiError error;
  error.status = traits.status;
  error.message = RefusalMessage(refuse, model);
  error.type = std::string(traits.type);
  error.code = std::string(traits.code);
  error.param = RefusalParam(refuse.reason);
  error.reason = std::string(traits.label);
  if (traits.retryable) {
    error.retry_after = refuse.retry_after;
  } else {
    error.never_retry = true;
  }
  return error;
}

ApiError MissingKey() {
  ApiError error = FromRefusal(Refuse{RequestId(), Refusal::kInvalidKey, Duration(), 0, 0}, "");
  error.message = "You didn't provide an API key. Send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`.";
  return error;
}

ApiError CutByShutdown() {
  ApiError error = FromRefusal(Refuse{RequestId(), Refusal::kShuttingDown, Duration::Seconds(1), 0, 0}, "");
  error.message = "The router is shutting down and could not wait for the end of this answer.";
  return error;
}

// Only a message that an engine wrote as one goes on to a client.
static std::string MessageOf(const EngineError& engine) {
  if (engine.unknown_shape && engine.in_answer)
    return "The engine sent an error inside its answer, without a message that can be read.";
  if (engine.message.empty()) return "The engine reported an error without a message.";
  if (!engine.unknown_shape) return engine.message;
  return absl::StrCat("The engine answered with status ", engine.status, " and without a JSON error message.");
}

// The engine's exact count decided what the estimate left open.
static bool IsContextExceeded(const EngineError& engine) {
  return engine.type == "exceed_context_size_error" || absl::StrContains(engine.message, "maximum context length") ||
         absl::StrContains(engine.message, "model's context length");
}

ApiError FromEngine(const EngineError& engine) {
  if (http_status::IsDeniedKey(engine.status)) {
    return EngineFailure(EngineErrorKind::kServer, "The engine refused the router's credentials.");
  }
  ApiError error = MakeError(ErrorName::kEngineServer, MessageOf(engine));
  if (engine.unknown_shape) error.detail = engine.message;
  if (http_status::IsKnownError(engine.status)) error.status = engine.status;
  error.code = engine.code;
  error.param = engine.param;
  const bool about_request = !http_status::IsServerError(error.status);
  if (!engine.type.empty()) {
    error.type = engine.type;
  } else if (about_request) {
    error.type = std::string(kInvalidRequest);
  }
  if (about_request && error.status != http_status::kTooManyRequests) {
    // Engines have their own names for it ("BadRequestError", "exceed_context_size_error").
    error.type = std::string(kInvalidRequest);
    if (IsContextExceeded(engine)) {
      const RefusalTraits& exceeded = TraitsOf(Refusal::kContextExceeded);
      error.code = std::string(exceeded.code);
      error.reason = std::string(exceeded.label);
    }
  }
  return error;
}

ApiError EngineFailure(EngineErrorKind kind, absl::string_view message) { return MakeError(NameOf(kind), message); }

ApiError TooManyConnections() {
  return MakeError(ErrorName::kTooManyConnections, "The router has as many connections as it may have.");
}

ApiError NoBodyMemory() {
  return MakeError(ErrorName::kNoBodyMemory, "The router holds as many bytes of request bodies as it may.");
}

std::string ErrorBody(const ApiError& error) {
  return absl::StrCat("{\"error\":{\"message\":", JsonQuote(error.message), ",\"type\":", NullOr(error.type),
                      ",\"param\":", NullOr(error.param), ",\"code\":", NullOr(error.code), "}}");
}

std::string ErrorEvents(const ApiError& error) {
  return absl::StrCat("data: ", ErrorBody(error), "\n\ndata: [DONE]\n\n");
}

}  // namespace penstock
