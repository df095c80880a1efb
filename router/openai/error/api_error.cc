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
                          " of KV cache, more than any replica of this model has (", refuse.bound, ").");
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
      return absl::StrCat("No replica of the model `", model, "` is up at the moment.");
    case Refusal::kShuttingDown:
      return "The router is shutting down.";
    case Refusal::kTenantTokens:
      return absl::StrCat("The limit of ", refuse.bound, " tokens per minute is used up; this request needs about ",
                          refuse.value, ". Retry later.");
    case Refusal::kTenantRequests:
      return absl::StrCat("The limit of ", refuse.bound, " requests at a time is reached. Retry when one has ended.");
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

ApiError AtTheDoor(TurnedAway limit, absl::string_view message) {
  ApiError error;
  error.status = 503;
  error.message = std::string(message);
  error.type = "server_error";
  error.code = "service_unavailable";
  error.reason = std::string(LabelOf(limit));
  error.retry_after = Duration::Seconds(1);
  return error;
}

}  // namespace

std::string JsonQuote(absl::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ApiError BadRequest(BadInput kind, absl::string_view message, absl::string_view param, absl::string_view code) {
  ApiError error;
  error.message = std::string(message);
  error.param = std::string(param);
  error.code = std::string(code);
  error.bad_input = kind;
  error.reason = std::string(LabelOf(kind));
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

ApiError CutByShutdown() {
  ApiError error = FromRefusal(Refuse{RequestId(), Refusal::kShuttingDown, Duration::Seconds(1), 0, 0}, "");
  error.message = "The router is shutting down and could not wait for the end of this answer.";
  return error;
}

// The engine's exact count decided what the estimate left open.
static bool IsContextExceeded(const EngineError& engine) {
  return engine.type == "exceed_context_size_error" || absl::StrContains(engine.message, "maximum context length") ||
         absl::StrContains(engine.message, "model's context length");
}

ApiError FromEngine(const EngineError& engine) {
  if (engine.status == 401 || engine.status == 403) {
    return EngineFailure(EngineErrorKind::kServer, "The engine refused the router's credentials.");
  }
  ApiError error;
  error.status = engine.status >= 400 && engine.status <= 599 ? engine.status : 502;
  error.message = engine.message.empty() ? "The engine reported an error without a message." : engine.message;
  if (!engine.type.empty()) {
    error.type = engine.type;
  } else if (error.status >= 500) {
    error.type = "server_error";
  }
  error.code = engine.code;
  error.param = engine.param;
  error.reason = std::string(LabelOf(EngineErrorKind::kServer));
  if (error.status < 500 && error.status != 429) {
    // Engines have their own names for it ("BadRequestError", "exceed_context_size_error").
    error.type = "invalid_request_error";
    if (IsContextExceeded(engine)) {
      error.code = "context_length_exceeded";
      error.reason = std::string(TraitsOf(Refusal::kContextExceeded).label);
    }
  }
  return error;
}

ApiError EngineFailure(EngineErrorKind kind, absl::string_view message) {
  ApiError error;
  error.status = 502;
  error.message = std::string(message);
  error.type = "server_error";
  error.code = "engine_error";
  error.reason = std::string(LabelOf(kind));
  return error;
}

ApiError TooManyConnections() {
  return AtTheDoor(TurnedAway::kConnections, "The router has as many connections as it may have.");
}

ApiError NoBodyMemory() {
  return AtTheDoor(TurnedAway::kBodyMemory, "The router holds as many bytes of request bodies as it may.");
}

std::string ErrorBody(const ApiError& error) {
  return absl::StrCat("{\"error\":{\"message\":", JsonQuote(error.message), ",\"type\":", NullOr(error.type),
                      ",\"param\":", NullOr(error.param), ",\"code\":", NullOr(error.code), "}}");
}

std::string ErrorEvents(const ApiError& error) {
  return absl::StrCat("data: ", ErrorBody(error), "\n\ndata: [DONE]\n\n");
}

}  // namespace penstock
