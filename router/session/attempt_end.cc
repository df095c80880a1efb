#include "router/session/attempt_end.h"

#include "backends/engines/catalogue/engine_catalogue.h"

namespace penstock {
AttemptEnd EndedBy(AttemptEnd::Kind kind) {
  AttemptEnd end;
  end.kind = kind;
  return end;
}

AttemptEnd EngineFailed(EngineErrorKind kind, absl::string_view message) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_error = kind;
  end.engine_at_fault = true;
  end.error = std::make_unique<ApiError>(EngineFailure(kind, message));
  return end;
}

AttemptEnd RouterShort() {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_error = EngineErrorKind::kConnect;
  end.hopeless = true;
  end.error = std::make_unique<ApiError>(
      MakeError(ErrorName::kNoLocalResources, "The router lacks the means for another connection. Retry later."));
  return end;
}

AttemptEnd EngineSaid(const EngineError& error, bool in_stream, bool resume_due) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_at_fault = true;
  end.error = std::make_unique<ApiError>(FromEngine(error));
  const bool server_error = http_status::IsServerError(end.error->status);
  if (IsPoolOverflow(error.message)) {
    end.engine_error = EngineErrorKind::kOverflow;
  } else if (http_status::IsFullEngine(error.status)) {
    end.engine_error = EngineErrorKind::kPushedBack;
    *end.error = MakeError(ErrorName::kEnginePushedBack, end.error->message, end.error->param);
  } else if (!server_error && !resume_due) {
    end.kind = AttemptEnd::Kind::kRejected;
    end.engine_at_fault = in_stream;
    return end;
  } else {
    end.hopeless = !server_error || end.error->status == http_status::kNotImplemented;
    if (end.error->code.empty()) end.error->code = std::string(RowOf(ErrorName::kEngineServer).code);
  }
  end.error->reason = std::string(LabelOf(end.engine_error));
  return end;
}

AttemptEnd EndpointMissing() {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kRejected;
  end.error = std::make_unique<ApiError>(
      MakeError(ErrorName::kUnsupportedEndpoint, "The engine of this model does not offer this endpoint.", "model"));
  return end;
}

EngineErrorKind ReadErrorKind(const absl::Status& status, bool in_body) {
  if (absl::IsDeadlineExceeded(status)) return EngineErrorKind::kTimeout;
  if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return EngineErrorKind::kClosed;
  return in_body && absl::IsDataLoss(status) ? EngineErrorKind::kClosed : EngineErrorKind::kGarbage;
}

}  // namespace penstock
