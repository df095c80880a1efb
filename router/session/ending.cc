#include "router/session/ending.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// An answer that came whole without a reason (embeddings) ended well too.
bool EndedWell(absl::string_view finish_reason) {
  return finish_reason.empty() || finish_reason == "stop" || finish_reason == "length" ||
         finish_reason == "tool_calls" || finish_reason == "function_call";
}

// The present fleet of the loop decides. The core may not have heard of it yet, and the request may be older.
bool MayBeServed(const SessionState& state) {
  const FleetBook& book = state.loop.fleet()->book;
  const std::vector<ReplicaSpec>& replicas = book.fleet().replicas;
  return book.unheard().decisive || std::any_of(replicas.begin(), replicas.end(), [&state](const ReplicaSpec& replica) {
           return !replica.removed && replica.Serves(state.prepared.model);
         });
}

}  // namespace

void Ending::Remember(std::unique_ptr<ApiError> error) {
  if (error != nullptr) earlier_error_ = std::move(error);
}

asio::awaitable<void> Ending::TurnAway(ApiError error) {
  Telemetry& telemetry = *state_.loop.edge().telemetry;
  if (error.bad_input) telemetry.OnBadInput(*error.bad_input);
  for (TurnedAway limit : {TurnedAway::kKeyRequests, TurnedAway::kLoop}) {
    if (error.reason == LabelOf(limit)) telemetry.OnTurnedAway(limit);
  }
  co_await state_.client().Error(error);
  if (!error.bad_input) record_.OnRefusal(error, Refuse());
  record_.End(error.bad_input ? RequestOutcome::kBadRequest : RequestOutcome::kRefused, error.reason);
}

asio::awaitable<void> Ending::Refused(Refuse refuse) {
  const bool served = MayBeServed(state_);
  if (refuse.reason == Refusal::kUnknownModel && served) {
    refuse.reason = Refusal::kNoReplica;
    refuse.retry_after = Duration::Seconds(1);
  } else if (refuse.reason == Refusal::kNoReplica && !served) {
    // The model left the fleet while the request waited.
    refuse.reason = Refusal::kUnknownModel;
  }
  const bool counts = state_.request.endpoint == Endpoint::kCountTokens && refuse.reason == Refusal::kNoReplica;
  return counts ? Estimated() : AnswerRefusal(FromRefusal(refuse, state_.facts().model), refuse);
}

asio::awaitable<void> Ending::Estimated() {
  const InputCounts input = InputOf(state_.facts());
  const PromptEstimate estimate = state_.loop.edge().core->EstimateOf(state_.prepared.model, input);
  const std::string body = absl::StrCat("{\"input_tokens\":", estimate.tokens.value(), "}");
  HeaderList headers;
  headers.Add("x-penstock-estimate", "true");
  const bool alive = co_await SendWhole(state_.client(), http_status::kOk, "application/json", headers, body);
  if (alive) record_.End(RequestOutcome::kOk, "");
}

// A stream ends with the reason instead of breaking off: the client keeps the tokens that it has.
asio::awaitable<void> Ending::ShutDown() {
  if (!state_.client().gone()) {
    admission_.Close(Outcome::kClientGone);
    state_.loop.edge().cut.fetch_add(1, std::memory_order_relaxed);
  }
  return AnswerRefusal(CutByShutdown(), Refuse());
}

asio::awaitable<void> Ending::AnswerRefusal(ApiError error, Refuse refuse) {
  delivery_.StopKeepAlive();
  if (state_.client().gone()) co_return;
  if (delivery_.resume_due()) delivery_.OnResume(ResumeResult::kRefused);
  error.allowance = state_.allowance;
  co_await state_.client().Error(error);
  if (state_.client().gone()) co_return;
  record_.OnRefusal(error, refuse);
  record_.End(RequestOutcome::kRefused, error.reason);
}

void Ending::Finished() {
  admission_.Close(Outcome::kFinished);
  delivery_.OnEnd(EndedWell(state_.answer.finish_reason));
  record_.End(RequestOutcome::kOk, "");
  if (const InsideRequest* inside = state_.request.inside) {
    inside->observer->OnAnswered(state_.answer.usage.value_or(Usage{Tokens(0), state_.answer.output()}));
  }
}

asio::awaitable<void> Ending::After(AttemptEnd end, NextStep step) {
  switch (step.kind) {
    case NextStep::Kind::kShutDown:
      return ShutDown();
    case NextStep::Kind::kCloseAnswer:
      return CloseAnswer();
    case NextStep::Kind::kStop:
      return Gone();
    case NextStep::Kind::kEnd:
    case NextStep::Kind::kPlaceAgain:
    case NextStep::Kind::kContinue:
    case NextStep::Kind::kFail:
      break;
  }
  return Failed(std::move(end), step);
}

asio::awaitable<void> Ending::Gone() {
  admission_.Close(Outcome::kClientGone);
  co_return;
}

asio::awaitable<void> Ending::CloseAnswer() {
  state_.answer.finish_reason = "length";
  admission_.Close(Outcome::kFinished);
  const bool alive = co_await delivery_.CloseStream("length");
  if (!alive && !state_.client().gone()) {
    co_return co_await Failed(delivery_.ClientEnd(), {NextStep::Kind::kFail, std::nullopt, std::nullopt});
  }
  if (!alive) co_return;
  if (delivery_.cut_short()) co_return co_await ShutDown();
  delivery_.OnEnd(/*ended_well=*/true);
  record_.End(RequestOutcome::kOk, "");
}

asio::awaitable<void> Ending::Failed(AttemptEnd end, NextStep step) {
  const bool rejected = end.kind == AttemptEnd::Kind::kRejected;
  if (end.denied && state_.request.endpoint == Endpoint::kCountTokens) co_return co_await Estimated();
  // The engine's own error says more than that nobody else takes the request.
  if (!rejected && !end.engine_at_fault && end.hopeless && earlier_error_) end.error = std::move(earlier_error_);
  // The client of a gathered answer has nothing that could be continued.
  const bool begun = state_.any_answer && !state_.facts().stream_inside;
  if (step.bar) end.error = std::make_unique<ApiError>(ErrorOf(end, *step.bar, begun));
  if (MustNotBeRetried(end, step, state_.facts())) {
    end.error->never_retry = true;
    end.error->retry_after.reset();
  }
  if (step.resume) delivery_.OnResume(*step.resume);
  admission_.Close(rejected ? Outcome::kRejected : Outcome::kEngineFailed);
  delivery_.OnEnd(/*ended_well=*/false);
  delivery_.StopKeepAlive();
  end.error->allowance = state_.allowance;
  co_await state_.client().Error(*end.error);
  if (rejected && !end.engine_at_fault) {
    record_.OnRejection(*end.error);
  } else {
    record_.OnFailure(*end.error);
  }
  record_.End(rejected                   ? RequestOutcome::kBadRequest
              : IsTurnedAway(*end.error) ? RequestOutcome::kRefused
                                         : RequestOutcome::kEngineError,
              end.error->reason);
}

}  // namespace penstock
