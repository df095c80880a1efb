#include "router/session/gathered/fresh_start.h"

namespace penstock {

bool FreshStart::due() const {
  const RelayState& answer = state_.answer;
  return state_.facts().stream_inside && (refused_ || answer.other_text || !answer.text.whole());
}

bool FreshStart::Saves(const AttemptEnd& end, const NextStep& step) {
  if (!state_.facts().stream_inside || refused_ || state_.client().gone() || !state_.client().unfit().empty()) {
    return false;
  }
  if (state_.ledger.exhausted() || Now() >= state_.answer_deadline) return false;
  const bool failed = end.kind == AttemptEnd::Kind::kFailed || end.kind == AttemptEnd::Kind::kRejected;
  // An engine may have refused the longer prompt only.
  const bool by_engine = end.engine_at_fault && step.kind == NextStep::Kind::kFail && !step.bar;
  const bool unable = end.engine_error == EngineErrorKind::kServer;
  const bool refused = failed && state_.answer.carried > 0 && (by_engine || unable);
  refused_ = refused || step.bar == ResumeResult::kEngine;
  return refused_;
}

}  // namespace penstock
