#include "router/session/gathered/fresh_start.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "router/session/state/answer_memory.h"

namespace penstock {
namespace {

bool Failed(const AttemptEnd& end) {
  return end.kind == AttemptEnd::Kind::kFailed || end.kind == AttemptEnd::Kind::kRejected;
}

// A full engine, and one that sleeps, may go on later.
bool Unable(const AttemptEnd& end) { return end.engine_error == EngineErrorKind::kServer; }

}  // namespace

void FreshStart::MindMemory() {
  const bool gathers = state_.facts().stream_inside && state_.request.inside == nullptr;
  if (gathers && AnswerMemory(state_).crowded()) AskWhole();
}

bool FreshStart::due() const {
  const RelayState& answer = state_.answer;
  return state_.facts().stream_inside && (refused_ || answer.other_text || !answer.text.whole());
}

bool FreshStart::NeedsWhole(const AttemptEnd& end) const {
  if (!Failed(end) || !end.orderly) return false;
  if (end.engine_error == EngineErrorKind::kGarbage) return true;
  // Engines refuse a stream in many words, but for the name of the field.
  return !state_.any_answer && end.error != nullptr &&
         absl::StrContains(absl::AsciiStrToLower(end.error->message), "stream");
}

bool FreshStart::Excuses(const AttemptEnd& end) const {
  if (!state_.facts().stream_inside) return false;
  return NeedsWhole(end) || (!refused_ && end.orderly && Failed(end) && state_.answer.carried > 0 && Unable(end));
}

bool FreshStart::CannotGoOn(const AttemptEnd& end, const NextStep& step) const {
  if (refused_) return false;
  // An engine may have refused the longer prompt only.
  const bool by_engine = end.engine_at_fault && step.kind == NextStep::Kind::kFail && !step.bar;
  const bool refused = Failed(end) && state_.answer.carried > 0 && (by_engine || Unable(end));
  return refused || step.bar == ResumeResult::kEngine;
}

bool FreshStart::Saves(const AttemptEnd& end, const NextStep& step) {
  if (!state_.facts().stream_inside || state_.client().gone()) return false;
  if (state_.ledger.exhausted() || Now() >= state_.answer_deadline) return false;
  if (NeedsWhole(end)) {
    AskWhole();
    ForgetAnswer();
    return true;
  }
  if (!state_.client().unfit().empty() || !CannotGoOn(end, step)) return false;
  return refused_ = true;
}

void FreshStart::ForgetAnswer() {
  state_.any_answer = false;
  state_.client().Forget();
}

void FreshStart::AskWhole() {
  RequestFacts& facts = state_.prepared.facts;
  facts.stream_inside = facts.stream = facts.asks_usage = false;
}

}  // namespace penstock
