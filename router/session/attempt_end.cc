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
  if (kind == EngineErrorKind::kTimeout) end.error->status = 504;
  return end;
}

AttemptEnd EngineSaid(const EngineError& error, bool in_stream, bool resume_due) {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kFailed;
  end.engine_at_fault = true;
  end.error = std::make_unique<ApiError>(FromEngine(error));
  if (IsPoolOverflow(error.message)) {
    end.engine_error = EngineErrorKind::kOverflow;
  } else if (error.status == 429 || error.status == 503) {
    end.engine_error = EngineErrorKind::kPushedBack;
    end.error->status = 503;
    end.error->type = "server_error";
    end.error->code = "service_unavailable";
    end.error->retry_after = Duration::Seconds(1);
  } else if (end.error->status < 500 && !resume_due) {
    end.kind = AttemptEnd::Kind::kRejected;
    end.engine_at_fault = in_stream;
    return end;
  } else {
    end.hopeless = end.error->status < 500 || end.error->status == 501;
    if (end.error->code.empty()) end.error->code = "engine_error";
  }
  end.error->reason = std::string(LabelOf(end.engine_error));
  return end;
}

AttemptEnd EndpointMissing() {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kRejected;
  end.error = std::make_unique<ApiError>(BadRequest(
      BadInput::kPath, "The engine of this model does not offer this endpoint.", "model", "unsupported_endpoint"));
  end.error->status = 404;
  return end;
}

EngineErrorKind ReadErrorKind(const absl::Status& status, bool in_body) {
  if (absl::IsDeadlineExceeded(status)) return EngineErrorKind::kTimeout;
  if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return EngineErrorKind::kClosed;
  return in_body && absl::IsDataLoss(status) ? EngineErrorKind::kClosed : EngineErrorKind::kGarbage;
}

}  // namespace penstock
