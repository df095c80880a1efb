#include "router/session/rules/resume_rules.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// The reasons for the client; by ResumeResult.
constexpr std::array<absl::string_view, kResumeLabels.size()> kBarTexts = {
    "",
    "it is no stream",
    "this endpoint's answers cannot be",
    "it has several choices",
    "the request offers tools",
    "the request asks for log probabilities or tokens",
    "the request binds the answer's format or length",
    "the answer repeats the prompt",
    "the prompt is not plain text with the model's own template",
    "it holds more than plain text, or half of a character",
    "it is too long to be kept",
    "no other engine can continue a message",
    "it failed too often",
    "its time is over",
    "there was no room elsewhere",
    "a second run would repeat its effects",
    "the request has a seed",
};

bool OneChoice(const RequestFacts& facts) { return facts.n == 1 && facts.prompts == 1; }

// The connections that took a part of the request or all of it.
int Deliveries(const AttemptEnd& end) { return end.writes + end.partial_writes; }

// The failure may be the engine's alone; of the other kinds the same engine would do the same again.
bool WorthAnother(const AttemptEnd& end, const AnswerProgress& progress) {
  if (end.cache_lost) return true;
  switch (end.engine_error) {
    case EngineErrorKind::kClosed:
      // An engine that died without a token of the answer does not get the request again.
      return Deliveries(end) == 0 || progress.delivered > 0 || progress.another_serves;
    case EngineErrorKind::kConnect:
    case EngineErrorKind::kPushedBack:
    case EngineErrorKind::kOverflow:
    case EngineErrorKind::kAsleep:  // It can be woken.
      return true;
    case EngineErrorKind::kTimeout:
    case EngineErrorKind::kGarbage:
    case EngineErrorKind::kServer:
    case EngineErrorKind::kHung:
      break;
  }
  return progress.another_serves;
}

// The client has every token that its limit allows.
bool OnlyFinishMissing(Endpoint endpoint, const RequestFacts& facts, const AnswerProgress& progress) {
  return progress.any_answer && OneChoice(facts) && facts.max_output > Tokens(0) &&
         progress.delivered >= facts.max_output.value() && StreamsText(endpoint);
}

std::optional<ResumeResult> BarToContinue(Endpoint endpoint, const RequestFacts& facts,
                                          const AnswerProgress& progress) {
  if (!facts.stream) return ResumeResult::kWhole;
  if (!StreamsText(endpoint)) return ResumeResult::kEndpoint;
  if (facts.n > 1 || facts.prompts > 1) return ResumeResult::kSeveral;
  if (progress.delivered == 0 && !progress.other_text) return std::nullopt;  // No more than its opening is out.
  if (facts.has_tools) return ResumeResult::kTools;
  if (facts.has_logprobs) return ResumeResult::kLogprobs;
  if (facts.has_structure) return ResumeResult::kStructured;
  if (facts.echo) return ResumeResult::kEcho;
  if (facts.seeded) return ResumeResult::kSeed;
  if (!facts.Continuable(endpoint)) return ResumeResult::kPrompt;
  if (progress.other_text) return ResumeResult::kOtherText;
  if (!progress.text_whole) return ResumeResult::kBudget;
  if (!progress.another_continues) return ResumeResult::kEngine;
  return std::nullopt;
}

// A full engine did nothing, nor did one without the model.
bool RefusedWork(const AttemptEnd& end) {
  return end.denied || (end.kind == AttemptEnd::Kind::kFailed && end.engine_error == EngineErrorKind::kPushedBack);
}

std::optional<ResumeResult> BarToAnother(const AttemptEnd& end, Endpoint endpoint, const RequestFacts& facts,
                                         const AnswerProgress& progress, Instant now) {
  if (facts.has_effects && end.writes > 0 && !RefusedWork(end)) return ResumeResult::kEffects;
  if (progress.exhausted) return ResumeResult::kTries;
  if (now >= progress.deadline) return ResumeResult::kDeadline;
  return progress.any_answer ? BarToContinue(endpoint, facts, progress) : std::nullopt;
}

// The attempt's end allows no other attempt.
NextStep FailForGood(const AttemptEnd& end, const RequestFacts& facts, const AnswerProgress& progress) {
  NextStep step{NextStep::Kind::kFail, std::nullopt, std::nullopt};
  const bool broke_off = progress.any_answer && end.kind == AttemptEnd::Kind::kFailed;
  if (progress.resume_due || broke_off) step.resume = facts.stream ? ResumeResult::kEngine : ResumeResult::kWhole;
  return step;
}

}  // namespace

bool IsLoss(const AttemptEnd& end) {
  if (end.kind != AttemptEnd::Kind::kFailed || Deliveries(end) == 0 || end.cache_lost) return false;
  switch (end.engine_error) {
    case EngineErrorKind::kTimeout:
    case EngineErrorKind::kClosed:
    case EngineErrorKind::kGarbage:
    case EngineErrorKind::kServer:
    case EngineErrorKind::kHung:
      return true;
    case EngineErrorKind::kConnect:
    case EngineErrorKind::kPushedBack:
    case EngineErrorKind::kOverflow:
    case EngineErrorKind::kAsleep:
      break;
  }
  return false;
}

void AttemptLedger::OnUnreached(ReplicaId replica) {
  ++unreached_;
  if (!absl::c_linear_search(unreached_at_, replica)) return unreached_at_.push_back(replica);
  pause_ = kFirstPause * (int64_t{1} << (std::min(unreached_, kMaxUnreached) - 2));
}

void AttemptLedger::OnEnd(const AttemptEnd& end, ReplicaId replica, int64_t delivered) {
  pause_ = Duration();
  if (end.kind != AttemptEnd::Kind::kFailed && !end.denied) return;
  if (end.engine_at_fault && end.engine_error == EngineErrorKind::kConnect) return OnUnreached(replica);
  const bool gave_tokens = delivered > delivered_at_failure_;
  ++failures_;
  failures_in_a_row_ = gave_tokens ? 1 : failures_in_a_row_ + 1;
  if (gave_tokens) {
    unreached_ = 0;
    unreached_at_.clear();
    losses_in_a_row_ = 0;
    lost_at_.reset();
  }
  if (IsLoss(end)) {
    losses_ += Deliveries(end);
    losses_in_a_row_ += Deliveries(end);
    if (!gave_tokens) lost_at_ = replica;
  }
  delivered_at_failure_ = delivered;
}

NextStep After(const AttemptEnd& end, Endpoint endpoint, const RequestFacts& facts, const AnswerProgress& progress,
               Instant now) {
  switch (end.kind) {
    case AttemptEnd::Kind::kFinished:
      return {NextStep::Kind::kEnd, std::nullopt, std::nullopt};
    case AttemptEnd::Kind::kClientGone:
      return {NextStep::Kind::kStop, std::nullopt, std::nullopt};
    case AttemptEnd::Kind::kCut:
      return {NextStep::Kind::kShutDown, std::nullopt, std::nullopt};
    case AttemptEnd::Kind::kRejected:
      if (end.cache_lost) break;
      if (!end.denied || progress.any_answer || !progress.another_serves) return FailForGood(end, facts, progress);
      break;
    case AttemptEnd::Kind::kFailed:
      if (end.hopeless || !WorthAnother(end, progress)) return FailForGood(end, facts, progress);
      break;
    case AttemptEnd::Kind::kAborted:
      break;
  }
  if (OnlyFinishMissing(endpoint, facts, progress)) return {NextStep::Kind::kCloseAnswer, std::nullopt, std::nullopt};
  if (const auto bar = BarToAnother(end, endpoint, facts, progress, now)) {
    return {NextStep::Kind::kFail, bar, progress.any_answer ? bar : std::nullopt};
  }
  return {progress.any_answer ? NextStep::Kind::kContinue : NextStep::Kind::kPlaceAgain, std::nullopt, std::nullopt};
}

ApiError ErrorOf(const AttemptEnd& end, ResumeResult bar, bool any_answer) {
  ApiError error;
  if (end.error != nullptr) error = *end.error;
  if (end.kind == AttemptEnd::Kind::kAborted) {
    error = EngineFailure(EngineErrorKind::kOverflow, "The answer was cut for want of memory.");
  }
  if (any_answer) {
    if (!absl::EndsWith(error.message, ".")) error.message += '.';
    absl::StrAppend(&error.message, " The answer cannot be continued elsewhere: ", kBarTexts[static_cast<size_t>(bar)],
                    ".");
  }
  return error;
}

bool MustNotBeRetried(const AttemptEnd& end, const NextStep& step, const RequestFacts& facts) {
  return IsLoss(end) && (facts.has_effects || step.bar == ResumeResult::kTries);
}

}  // namespace penstock
