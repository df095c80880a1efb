#include "router/session/prefill/prefill_stage.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/answer_reader.h"
#include "backends/dialect/engine_error.h"
#include "backends/dialect/handover/handover.h"
#include "router/openai/request/body_splice.h"
#include "router/session/state/engine_headers.h"
#include "router/session/state/exchange_ends.h"
#include "router/session/state/short_body.h"
#include "router/telemetry/engine_metrics.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kLongestError = 64 << 10;

SpliceOrder OrderOf(const SessionState& state) {
  SpliceOrder order;
  order.engine_model = state.fleet->book.EngineModelName(state.replica(), state.prepared.model);
  order.prompt_only = true;
  order.handover = kPrefillOrder;
  if (state.answer.carried > 0) order.continue_from = state.answer.PromptText();
  return order;
}

HandoverEnd EndOf(const AttemptEnd& end) {
  switch (end.kind) {
    case AttemptEnd::Kind::kClientGone:
    case AttemptEnd::Kind::kAborted:
    case AttemptEnd::Kind::kCut:
      return HandoverEnd::kLeft;
    case AttemptEnd::Kind::kFinished:
    case AttemptEnd::Kind::kFailed:
    case AttemptEnd::Kind::kRejected:
      break;
  }
  return HandoverEnd::kFailed;
}

}  // namespace

asio::awaitable<std::optional<AttemptEnd>> PrefillStage::Run() {
  state_.in_prefill = true;
  const Instant began = Now();
  MaybeEnd end = co_await Compute();
  state_.silent_work.reset();
  if (end) end_ = EndOf(*end);
  const Instant now = Now();
  state_.loop.edge().telemetry->engines().OnHandover(state_.ReplicaName(), end_, now - began);
  if (RequestTrace* trace = state_.request.trace.get()) {
    trace->OnEvent(now, "prefilled",
                   {{"penstock.prefill", state_.ReplicaName()}, {"penstock.result", std::string(LabelOf(end_))}});
  }
  if (end) co_return end;
  if (end_ != HandoverEnd::kHandedOver && end_ != HandoverEnd::kSkipped) Tell();
  ticket_.EndPrefill(end_ == HandoverEnd::kHandedOver, cached_);
  state_.in_prefill = false;
  state_.handover = std::move(params_);
  state_.heard = now;
  co_return std::nullopt;
}

asio::awaitable<std::optional<AttemptEnd>> PrefillStage::Compute() {
  // A share: a reload may put another pool in its place while the stage waits.
  const std::shared_ptr<UpstreamPool> pool = state_.loop.PoolOf(state_.replica());
  if (pool == nullptr || state_.replica().value() >= state_.fleet->engines.size() || !state_.engine().capabilities) {
    co_return NothingSent(EngineErrorKind::kConnect, "The engine's address is not known.");
  }
  if (state_.cache_failed) co_return Decline(HandoverEnd::kSkipped, "the last cache of the request failed");
  if (!state_.engine().capabilities->hands_over) {
    co_return Decline(HandoverEnd::kNothing, "its kind of engine hands no cache over");
  }
  if (MayBeSilent(state_.request.endpoint, state_.facts())) state_.silent_work.emplace(state_.engine().notes);
  UpstreamHead head;
  if (auto end = co_await Ask(*pool, &head)) co_return end;
  state_.heard = Now();
  if (http_status::IsError(head.status)) co_return co_await ReadError(head.status);
  if (!http_status::IsSuccess(head.status) || head.early) {
    exchange_->Abort();
    co_return EngineFailed(EngineErrorKind::kGarbage, "The engine's answer is no answer to a prompt.");
  }
  if (head.event_stream) {
    exchange_->Abort();
    co_return Decline(HandoverEnd::kFalse, "it answered with a stream");
  }
  co_return co_await ReadOffer();
}

// The request is spliced here, so its memory is free before the answer is read.
asio::awaitable<std::optional<AttemptEnd>> PrefillStage::Ask(UpstreamPool& pool, UpstreamHead* head) {
  const SessionRequest& request = state_.request;
  const SplicedBody body(request.body, request.endpoint, state_.facts(), OrderOf(state_));
  UpstreamRequest upstream;
  upstream.target = std::string(TraitsOf(request.endpoint).path);
  upstream.headers = EngineHeaders(state_, ticket_.id());
  upstream.body = body.pieces();
  exchange_.emplace();
  if (state_.Left(state_.limits->first_byte_timeout) <= Duration()) {
    co_return NothingSent(EngineErrorKind::kTimeout, "The answer takes longer than limits.answer_timeout.");
  }
  std::optional<absl::Status> written = pool.SendNow(*exchange_, std::move(upstream));
  if (!written) {
    const Duration timeout = state_.Left(state_.limits->connect_timeout + state_.limits->body_timeout);
    written = co_await pool.FinishSend(*exchange_, timeout);
  }
  if (auto end = SendFailed(state_, ticket_, *exchange_, *written)) co_return end;
  auto read = co_await exchange_->ReadHead(state_.Left(state_.limits->first_byte_timeout));
  if (!read.ok()) {
    co_return ReadFailed(state_, ticket_, read.status(), HeadFault(read.status()), /*in_body=*/false);
  }
  *head = *std::move(read);
  co_return std::nullopt;
}

asio::awaitable<std::optional<AttemptEnd>> PrefillStage::ReadError(int status) {
  const ShortBody body = co_await ReadShortBody(state_, *exchange_, kLongestError);
  if (auto interrupted = Interruption(state_.client(), ticket_).End()) co_return interrupted;
  EngineError error = ParseEngineError(status, body.bytes);
  if (!http_status::IsError(error.status)) error.status = status;
  co_return Judge(error);
}

asio::awaitable<std::optional<AttemptEnd>> PrefillStage::ReadOffer() {
  const ShortBody body = co_await ReadShortBody(state_, *exchange_, kMostHandover);
  if (!body.status.ok()) {
    co_return ReadFailed(state_, ticket_, body.status, "The engine's answer broke off.", /*in_body=*/true);
  }
  if (auto interrupted = Interruption(state_.client(), ticket_).End()) co_return interrupted;
  if (!body.fits) {
    exchange_->Abort();
    co_return Decline(HandoverEnd::kFalse, "its answer has no end, or finds no memory");
  }
  const AnswerFacts facts = ReadAnswer(state_.request.endpoint, body.bytes);
  if (facts.malformed) co_return EngineFailed(EngineErrorKind::kGarbage, "The engine's answer is no JSON object.");
  if (facts.error) co_return Judge(ErrorInAnswer(body.bytes));
  if (facts.usage && facts.usage->cached <= facts.usage->prompt) cached_ = facts.usage->cached;
  HandoverOffer offer = ReadHandover(body.bytes);
  if (offer.kind == HandoverOffer::Kind::kNone) {
    co_return Decline(HandoverEnd::kNothing, "its answer has no kv_transfer_params");
  }
  if (offer.kind == HandoverOffer::Kind::kFalse) {
    co_return Decline(HandoverEnd::kFalse, "its kv_transfer_params are none for a decode engine");
  }
  end_ = HandoverEnd::kHandedOver;
  params_ = std::move(offer.params);
  co_return std::nullopt;
}

std::optional<AttemptEnd> PrefillStage::Judge(const EngineError& error) {
  AttemptEnd end = SaidByEngine(state_, error, /*in_stream=*/false, /*resume_due=*/false);
  // No other engine would do what this one cannot.
  if (end.kind != AttemptEnd::Kind::kRejected && !end.hopeless) return end;
  return Decline(HandoverEnd::kRejected, absl::StrCat("it refused the request: ", end.error->message));
}

std::optional<AttemptEnd> PrefillStage::Decline(HandoverEnd end, absl::string_view why) {
  end_ = end;
  why_ = std::string(why);
  return std::nullopt;
}

void PrefillStage::Tell() const {
  Edge& edge = state_.loop.edge();
  if (edge.log == nullptr) return;
  const auto suppressed = edge.handover_lines.Take(Now());
  if (!suppressed) return;
  DecisionEntry entry;
  entry.suppressed = *suppressed;
  entry.level = LogLevel::kWarning;
  entry.replica = state_.ReplicaName();
  entry.message = absl::StrCat("prefill replica hands no cache over: ", why_);
  edge.log->Write(std::move(entry));
}

}  // namespace penstock
