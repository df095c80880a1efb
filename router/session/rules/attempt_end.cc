#include "router/session/rules/attempt_end.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
namespace {

AttemptEnd TurnedAwayBy(ErrorName name, absl::string_view message) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_error = EngineErrorKind::kConnect;
  end.hopeless = true;
  end.error = std::make_unique<ApiError>(MakeError(name, message));
  return end;
}

}  // namespace

AttemptEnd EndedBy(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

AttemptEnd EngineFailed(EngineErrorKind kind, absl::string_view message, absl::string_view detail) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_error = kind;
  end.engine_at_fault = true;
  end.error = std::make_unique<ApiError>(EngineFailure(kind, message));
  end.error->detail = std::string(detail);
  return end;
}

AttemptEnd AnswerTooLong(absl::string_view message) {
  AttemptEnd end = EngineFailed(EngineErrorKind::kGarbage, message);
  end.hopeless = true;
  return end;
}

AttemptEnd NothingSent(EngineErrorKind kind, absl::string_view message) {
  AttemptEnd end = EngineFailed(kind, message);
  end.engine_at_fault = false;
  return end;
}

AttemptEnd RouterShort() {
  return TurnedAwayBy(ErrorName::kNoLocalResources, "The router lacks the means for another connection. Retry later.");
}

AttemptEnd NoAnswerMemory() {
  return TurnedAwayBy(ErrorName::kNoAnswerMemory, "The router holds as many bytes of answers as it may. Retry later.");
}

bool IsTurnedAway(const ApiError& error) {
  return error.reason == LabelOf(TurnedAway::kLocalResources) || error.reason == LabelOf(TurnedAway::kAnswerMemory);
}

AttemptEnd EngineSaid(const EngineError& error, bool in_stream, bool resume_due) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_at_fault = end.orderly = true;
  end.error = std::make_unique<ApiError>(FromEngine(error));
  const bool server_error = http_status::IsServerError(end.error->status);
  // An engine may quote its client in the error of a bad request.
  if (server_error && IsPoolOverflow(error.message)) {
    end.engine_error = EngineErrorKind::kOverflow;
  } else if (http_status::IsFullEngine(error.status)) {
    end.engine_error = EngineErrorKind::kPushedBack;
    const ApiError said = *end.error;
    *end.error = MakeError(ErrorName::kEnginePushedBack, said.message, said.param);
    end.error->detail = said.detail;
  } else if (!server_error && !resume_due) {
    end.kind = AttemptEnd::Kind::kRejected;
    end.engine_at_fault = in_stream;
    end.denied = !in_stream && DeniesModel(error);
    // The context has a label of its own.
    if (!in_stream && end.error->reason == LabelOf(end.engine_error)) end.error->reason = std::string(kRejectedReason);
    return end;
  } else {
    end.hopeless = !server_error || end.error->status == http_status::kNotImplemented;
    if (end.error->code.empty()) end.error->code = std::string(RowOf(ErrorName::kEngineServer).code);
  }
  end.error->reason = std::string(LabelOf(end.engine_error));
  return end;
}

AttemptEnd EndpointMissing(absl::string_view model, absl::string_view path, bool another) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kRejected;
  end.denied = another;
  end.error = std::make_unique<ApiError>(NoEngineServes(model, path));
  return end;
}

AttemptEnd EngineRedirects(int status, absl::string_view location) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kRejected;
  end.error = std::make_unique<ApiError>(MakeError(
      ErrorName::kEngineServer,
      absl::StrCat("The engine redirects the request with status ", status,
                   ", and the router neither follows nor passes that on. Ask for the path that the engine serves.")));
  end.error->detail = std::string(location);
  end.error->never_retry = true;
  return end;
}

ApiError NoEngineServes(absl::string_view model, absl::string_view path) {
  return MakeError(ErrorName::kUnsupportedEndpoint, absl::StrCat("No engine of `", model, "` serves ", path, "."),
                   "model");
}

bool LacksPath(const EngineError& error) {
  if (error.status != http_status::kNotFound && error.status != http_status::kMethodNotAllowed) return false;
  // FastAPI, llama-server, Ollama and bare servers say these. Other words are about a model or a stored response.
  constexpr std::array<absl::string_view, 5> kWords = {"", "not found", "file not found", "404 page not found",
                                                       "method not allowed"};
  const absl::string_view message = absl::StripAsciiWhitespace(error.message);
  return std::any_of(kWords.begin(), kWords.end(),
                     [message](absl::string_view words) { return absl::EqualsIgnoreCase(message, words); });
}

bool DeniesModel(const EngineError& error) {
  if (!http_status::IsError(error.status) || http_status::IsServerError(error.status)) return false;
  const std::string message = absl::AsciiStrToLower(error.message);
  // llama-server in router mode answers 400 with these words. An engine may quote its client in other ones.
  if (message == "model not found" || error.code == "model_not_found") return true;
  return error.status == http_status::kNotFound && absl::StrContains(message, "model");
}

bool SaysAsleep(const EngineError& error) {
  return error.status == http_status::kBadRequest && error.message == "model is not loaded";
}

Blame BlameOf(const AttemptEnd& end) {
  if (!end.engine_at_fault) return Blame::kNone;
  switch (end.engine_error) {
    case EngineErrorKind::kConnect:
      return Blame::kUnreached;
    case EngineErrorKind::kTimeout:
    case EngineErrorKind::kClosed:
      return Blame::kBroken;
    case EngineErrorKind::kGarbage:
      // An answer that one client cannot take is whole: others may take it.
      return end.hopeless ? Blame::kNone : Blame::kBroken;
    case EngineErrorKind::kServer:
    case EngineErrorKind::kPushedBack:
    case EngineErrorKind::kOverflow:
    case EngineErrorKind::kHung:
    case EngineErrorKind::kAsleep:
      return Blame::kNone;  // An engine that says so is alive, and the fleet monitor finds the last two.
  }
  return Blame::kNone;
}

EngineErrorKind ReadErrorKind(const absl::Status& status, bool in_body) {
  if (absl::IsDeadlineExceeded(status)) return EngineErrorKind::kTimeout;
  if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return EngineErrorKind::kClosed;
  return in_body && absl::IsDataLoss(status) ? EngineErrorKind::kClosed : EngineErrorKind::kGarbage;
}

absl::string_view HeadFault(const absl::Status& status) {
  return absl::IsDataLoss(status) ? "The engine's answer cannot be read as HTTP." : "The engine did not answer.";
}

}  // namespace penstock
