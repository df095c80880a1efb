#include "router/session/passed_answer.h"

#include <utility>

#include "absl/strings/match.h"
#include "router/openai/passed/passed_route.h"
#include "router/responses/response_id.h"
#include "router/session/answer_stream.h"
#include "router/session/attempt.h"
#include "router/session/state/engine_headers.h"
#include "router/session/state/stored_response.h"
#include "router/session/whole_answer.h"

namespace penstock {
namespace asio = boost::asio;

std::string Attempt::Target() const {
  const SessionRequest& request = state_.request;
  if (plan_.translate) return std::string(TraitsOf(Endpoint::kChat).path);
  if (request.target.empty()) return std::string(TraitsOf(request.endpoint).path);
  const std::optional<JsonSpan>& at = state_.facts().target_model_at;
  if (!at) return std::string(request.target);
  const std::string model = state_.fleet->book.EngineModelName(state_.forward->replica, state_.prepared.model);
  const bool renamed = !model.empty() && model != state_.facts().model;
  return renamed ? WithParameter(request.target, *at, model) : std::string(request.target);
}

Attempt::Plan Attempt::MakePlan() const {
  const RequestFacts& facts = state_.facts();
  Plan plan;
  plan.reassemble =
      !facts.stream && state_.engine().capabilities->stream_everything && facts.Reassemblable(state_.request.endpoint);
  plan.stream = facts.stream || plan.reassemble;
  plan.translate = MessageAsChat::Needed(state_);
  return plan;
}

SpliceOrder Attempt::MakeOrder() const {
  const Endpoint endpoint = state_.request.endpoint;
  SpliceOrder order;
  order.engine_model = state_.fleet->book.EngineModelName(state_.forward->replica, state_.prepared.model);
  order.force_stream = plan_.reassemble || state_.facts().stream_inside;
  order.ask_usage = plan_.stream && StreamsChunks(endpoint);
  if (state_.facts().stored && state_.engine().capabilities->names_responses) {
    state_.response_id = NewResponseId(MarksOf(state_.engine()), state_.prepared.caller.tenant);
    order.response_id = state_.response_id;
  }
  // A client names no cache: the engine would fetch it from any address.
  const bool in_pair = state_.fleet->book.fleet().replicas[state_.forward->replica.value()].role != EngineRole::kBoth;
  if (in_pair && state_.facts().handover_at) order.handover = "null";
  if (!state_.handover.empty()) order.handover = state_.handover;
  if (state_.answer.carried > 0) {
    order.continue_from = state_.answer.PromptText();
    order.already_generated = Tokens(state_.answer.carried);
  }
  return order;
}

void Attempt::Detach() {
  if (RequestRecord* record = state_.request.record) {
    record->endpoint = std::string(TraitsOf(state_.request.endpoint).label);
    record->model = state_.facts().model;
    record->service_class = state_.prepared.service_class.name;
    record->tenant = state_.prepared.caller.name;
    record->replica = state_.ReplicaName();
    record->queue_wait = state_.forward->waited;
  }
  state_.client().Detach();
}

bool Attempt::LeavesWork(const AttemptEnd& end) const {
  if (!state_.facts().background || end.kind == AttemptEnd::Kind::kFinished) return false;
  if (writes() == 0 || state_.response_id.empty() || http_status::IsError(state_.engine_status)) return false;
  return !state_.loop.edge().draining.load(std::memory_order_relaxed);
}

asio::awaitable<void> Attempt::CancelWork() {
  BackgroundWatch work(state_, pool_, EngineHeaders(state_, admission_.ticket().id()));
  co_await work.Cancel();
}

asio::awaitable<AttemptEnd> Attempt::ReadAnswer() {
  if (state_.request.endpoint == Endpoint::kRealtime) return Switch();
  // vLLM answers encoding_format "bytes" with the vectors alone.
  const bool octets = TraitsOf(state_.request.endpoint).cost == EndpointCost::kPrompt &&
                      absl::StartsWithIgnoreCase(reply_.content_type, "application/octet-stream");
  if (octets || PassesAnswer(state_.request.endpoint)) return Pass();
  if (plan_.stream && reply_.event_stream) return ReadStream();
  // A gathered answer may come whole, unless it goes on from an earlier part.
  const bool whole = state_.facts().stream_inside && state_.answer.carried == 0;
  return !plan_.stream || plan_.reassemble || whole ? ReadWhole() : ReadNoStream();
}

asio::awaitable<AttemptEnd> Attempt::Switch() {
  switched_ = std::make_unique<SwitchedAnswer>(state_);
  AttemptEnd end = co_await switched_->Run(exchange_->TakeConnection(), delivery_.Headers());
  // Its client gets no word of the router, so the count tells its operator.
  if (admission_.ticket().cut()) state_.loop.edge().cut.fetch_add(1, std::memory_order_relaxed);
  co_return end;
}

asio::awaitable<AttemptEnd> Attempt::Pass() {
  const PassedAnswer::Head head{reply_.status, reply_.event_stream, std::move(reply_.content_type), reply_.length};
  PassedAnswer answer(state_, admission_, delivery_, *exchange_, head);
  co_return co_await answer.Run();
}

bool PassedAnswer::Waits() const {
  if (passing_ || size_ > WholeAnswer::kMostHeld) return false;
  return head_.length && *head_.length <= WholeAnswer::kMostHeld;
}

asio::awaitable<AttemptEnd> PassedAnswer::Run() {
  turn_.Restart(Now());
  if (head_.length) size_ = *head_.length;
  const bool too_long = TooLong();
  size_ = 0;
  while (!too_long) {
    if (!memory_.Hold(held_.size() + AnswerMemory::kBlock)) co_return NoRoomForAnswer(state_);
    const absl::StatusOr<bool> ended = co_await ReadPiece();
    if (!ended.ok()) {
      co_return ReadFailed(state_, admission_.ticket(), ended.status(), "The engine's answer cannot be read.",
                           /*in_body=*/true);
    }
    if (*ended) co_return co_await Finish();
    if (TooLong()) break;
    if (!Waits() && !held_.empty()) {
      const bool alive = co_await PassHeld();
      if (!alive) co_return EndedBy(AttemptEnd::Kind::kClientGone);
    }
    if (turn_.Step(Now())) {
      co_await LetOthersRun(state_.loop.io());
      turn_.Restart(Now());
    }
  }
  co_return AnswerTooLong("The engine's answer is longer than limits.max_answer.");
}

asio::awaitable<absl::StatusOr<bool>> PassedAnswer::ReadPiece() {
  const auto take = [this](absl::string_view piece) {
    state_.heard = Now();
    size_ += piece.size();
    held_.append(piece.data(), piece.size());
    return false;
  };
  co_return co_await exchange_.ReadWhile(state_.Left(state_.limits->gap_timeout), take);
}

asio::awaitable<bool> PassedAnswer::PassHeld() {
  if (!passing_) {
    passing_ = state_.any_answer = true;
    const HeaderList headers = delivery_.Headers();
    state_.client().SetStatus(head_.status);
    state_.client().BeginWhole(head_.content_type, headers, head_.length);
  }
  const bool alive = co_await SendPart(state_.client(), held_);
  held_.clear();
  if (held_.capacity() > AnswerMemory::kBlock) std::string().swap(held_);
  co_return alive;
}

asio::awaitable<AttemptEnd> PassedAnswer::Finish() {
  admission_.Close(Outcome::kFinished);
  // Before the last write: a client that has its answer may ask again at once.
  state_.prepared.place_of_key.reset();
  bool alive = true;
  if (passing_) {
    if (!held_.empty()) alive = co_await PassHeld();
    if (alive) alive = co_await state_.client().End();
  } else {
    state_.any_answer = true;
    const HeaderList headers = delivery_.Headers();
    alive = co_await SendWhole(state_.client(), head_.status, head_.content_type, headers, held_);
  }
  if (!alive) co_return EndedBy(AttemptEnd::Kind::kClientGone);
  co_return AttemptEnd();
}

}  // namespace penstock
