// The records of one session: one RequestRecord for the telemetry, and its entries of the decision log.
//
// End() counts once, the first time. An entry that the log does not want is not filled in. Belongs to one loop.
#ifndef PENSTOCK_ROUTER_SESSION_SESSION_RECORD_H_
#define PENSTOCK_ROUTER_SESSION_SESSION_RECORD_H_

#include "absl/strings/string_view.h"
#include "router/core/contract/action.h"
#include "router/labels/labels.h"
#include "router/live/live_request.h"
#include "router/openai/error/api_error.h"
#include "router/session/delivery.h"
#include "router/session/rules/attempt_end.h"
#include "router/session/state/session_state.h"
#include "router/telemetry/log/decision_log.h"
#include "router/telemetry/telemetry.h"

namespace penstock {

class SessionRecord {
 public:
  SessionRecord(const SessionState& state, Delivery& delivery) : state_(state), delivery_(delivery) {}

  // The request as it is now, for pages.
  LiveRequest Describe() const;
  // `reason`: the label of a Refusal, BadInput or EngineErrorKind; empty when all went well.
  void End(RequestOutcome outcome, absl::string_view reason);

  // The request waits for an engine, for the first time or again.
  void OnWait();
  void OnForward();
  void OnAttemptEnd(const AttemptEnd& end);
  void OnPark(const Park& park);
  // The core took the request's memory away.
  void OnAbort(AbortReason reason);
  void OnRefusal(const ApiError& error, const Refuse& refuse);
  // An engine failed an attempt: counted too.
  void OnEngineError(const AttemptEnd& end);
  // The request ends with this error, after its last attempt.
  void OnFailure(const ApiError& error) {
    LogError("request", error.reason.empty() ? error.code : error.reason, error);
  }
  // The request ends because an engine found it bad. Anybody can send such requests, so the lines are sampled. A fault
  // that the router itself found is counted only.
  void OnRejection(const ApiError& error);

 private:
  // Null where nobody wants an entry of the kind.
  DecisionLog* LogFor(DecisionEntry::Kind kind) const;
  // The names that every entry has.
  DecisionEntry EntryOf(DecisionEntry::Kind kind) const;
  void LogEnd(const RequestRecord& record);
  // Hands the spans of the request over, if it is traced.
  void EndTrace(const RequestRecord& record);
  void TraceForward(RequestTrace& trace);
  // Null: the request belongs to no trace.
  RequestTrace* trace() const { return state_.request.trace.get(); }
  void LogError(absl::string_view ended, absl::string_view reason, const ApiError& error,
                LogLevel level = LogLevel::kError, int64_t suppressed = 0);

  const SessionState& state_;
  Delivery& delivery_;
  bool ended_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_ROUTER_SESSION_SESSION_RECORD_H_
