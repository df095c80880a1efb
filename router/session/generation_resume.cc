// What becomes of a request whose engine failed it: another engine, a continuation, or an honest end.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "router/session/generation.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr int kMaxFailures = 6;
// Without a token delivered in between: a request that kills its engines must not meet them all.
constexpr int kMaxFailuresInARow = 3;
// Engines that could not even be connected to got nothing of the request.
constexpr int kMaxUnreached = 8;

// Why an answer cannot be continued, for its client; by ResumeResult.
constexpr std::array<absl::string_view, kResumeLabels.size()> kBars = {
    "",
    "this endpoint's answers cannot be",
    "it has several choices",
    "the request offers tools",
    "the request asks for log probabilities",
    "the request binds the answer's format or length",
    "the answer repeats the prompt",
    "the prompt is not plain text with the model's own template",
    "it holds more than plain text",
    "it is too long to be kept",
    "no other engine can continue a message",
    "it failed too often",
    "its time is over",
    "there was no room elsewhere",
};

}  // namespace

Duration Generation::Left(Duration limit) const {
  return std::min(limit, std::max(Duration(), answer_deadline_ - Now()));
}

bool Generation::PastDeadline() const { return Now() >= answer_deadline_; }

bool Generation::AnotherServes(bool continues) const {
  const std::vector<ReplicaSpec>& replicas = fleet_->book.fleet().replicas;
  for (size_t i = 0; i < std::min(replicas.size(), fleet_->seats.size()); ++i) {
    const std::vector<ModelId>& models = replicas[i].models;
    if (replicas[i].removed || std::find(models.begin(), models.end(), model_) == models.end()) continue;
    const EngineSeat& other = fleet_->seats[i];
    if (continues ? other.capabilities && other.capabilities->continues_final_message : i != forward_->replica.value())
      return true;
  }
  return false;
}

bool Generation::WorthAnother(EngineErrorKind kind) const {
  switch (kind) {
    case EngineErrorKind::kConnect:
    case EngineErrorKind::kClosed:
    case EngineErrorKind::kPushedBack:
    case EngineErrorKind::kOverflow:
      return true;
    case EngineErrorKind::kTimeout:
    case EngineErrorKind::kGarbage:
    case EngineErrorKind::kServer:
      break;  // The same engine would do the same again.
  }
  return AnotherServes(/*continues=*/false);
}

std::optional<ResumeResult> Generation::BarToAnother(const AttemptEnd& end) {
  if (end.kind == AttemptEnd::Kind::kPlaceAgain) {
    const bool unreached = end.is_engine_error && end.engine_error == EngineErrorKind::kConnect;
    if (unreached) {
      if (++unreached_ >= kMaxUnreached) return ResumeResult::kTries;
    } else {
      failures_in_a_row_ = state_.delivered > delivered_at_failure_ ? 1 : failures_in_a_row_ + 1;
      delivered_at_failure_ = state_.delivered;
      if (++failures_ >= kMaxFailures || failures_in_a_row_ >= kMaxFailuresInARow) return ResumeResult::kTries;
    }
  }
  if (PastDeadline()) return ResumeResult::kDeadline;
  return any_answer_ ? BarToResume() : std::nullopt;
}

std::optional<ResumeResult> Generation::BarToResume() const {
  if (endpoint_ != Endpoint::kChat && endpoint_ != Endpoint::kCompletions) return ResumeResult::kEndpoint;
  if (facts_.n > 1 || facts_.prompts > 1) return ResumeResult::kSeveral;
  if (state_.delivered == 0 && !state_.other_text) return std::nullopt;  // No more than its opening is out.
  if (facts_.has_tools) return ResumeResult::kTools;
  if (facts_.has_logprobs) return ResumeResult::kLogprobs;
  if (facts_.has_structure) return ResumeResult::kStructured;
  if (facts_.echo) return ResumeResult::kEcho;
  if (!facts_.Continuable(endpoint_)) return ResumeResult::kPrompt;
  if (state_.other_text) return ResumeResult::kOtherText;
  if (!state_.text.whole()) return ResumeResult::kBudget;
  if (endpoint_ == Endpoint::kChat && !AnotherServes(/*continues=*/true)) return ResumeResult::kEngine;
  return std::nullopt;
}

ApiError Generation::Uncontinued(const AttemptEnd& end, ResumeResult bar) const {
  ApiError error;
  if (end.error != nullptr) error = *end.error;
  if (end.kind == AttemptEnd::Kind::kAborted) {
    error = EngineFailure(EngineErrorKind::kOverflow, "The answer was cut for want of memory.");
  }
  if (any_answer_) {
    absl::StrAppend(&error.message, " The answer cannot be continued elsewhere: ", kBars[static_cast<size_t>(bar)],
                    ".");
  }
  return error;
}

// What the client has stays; the rest is generated again, or the answer continued from there.
void Generation::ReturnToCore(const AttemptEnd& end) {
  const bool aborted = end.kind == AttemptEnd::Kind::kAborted;
  ticket_->LeaveBoard();
  state_.Restart(/*keep_delivered=*/any_answer_, /*trimmed=*/endpoint_ == Endpoint::kChat);
  resume_due_ = resume_due_ || any_answer_;
  ticket_->Requeue(Tokens(state_.delivered), !aborted);
}

bool Generation::OnlyFinishMissing() const {
  return any_answer_ && facts_.n == 1 && facts_.prompts == 1 && facts_.max_output > Tokens(0) &&
         state_.delivered >= facts_.max_output.value() &&
         (endpoint_ == Endpoint::kChat || endpoint_ == Endpoint::kCompletions);
}

asio::awaitable<bool> Generation::CloseAnswer(absl::string_view finish_reason) {
  CloseTicket(Outcome::kFinished);
  std::optional<Usage> usage;
  if (!state_.usage) state_.usage = Usage{estimate_.tokens, Tokens(state_.delivered)};
  if (facts_.asks_usage && !state_.usage_sent) usage = state_.usage;
  const std::string events = ClosingEvents(endpoint_, state_.names, finish_reason, usage);
  const std::vector<absl::string_view> pieces(1, events);
  const HeaderList none;
  if (!co_await answer_.Events(none, pieces)) co_return false;
  co_return co_await answer_.End();
}

void Generation::NoteResume(ResumeResult result) {
  resume_due_ = false;
  if (result == ResumeResult::kContinued) ++resumes_;
  loop_.edge().telemetry->OnResume(result);
}

asio::awaitable<bool> Generation::AnnounceResume() {
  NoteResume(ResumeResult::kContinued);
  if (FindHeader(request_.headers, "x-penstock-receipt") != "1") co_return true;
  const std::string comment = absl::StrCat(": x-penstock-receipt ", ReceiptJson(), "\n\n");
  const std::vector<absl::string_view> pieces(1, comment);
  const HeaderList none;
  co_return co_await answer_.Events(none, pieces);
}

}  // namespace penstock
