#include "router/session/attempt.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/engine_error.h"
#include "router/realtime/upgrade.h"
#include "router/session/answer_stream.h"
#include "router/session/state/engine_headers.h"
#include "router/session/state/exchange_ends.h"
#include "router/session/state/short_body.h"
#include "router/session/state/text_counting.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kMaxErrorBody = 1 << 20;
// An engine answers a request without admission at once, or it hangs.
constexpr Duration kFreePatience = Duration::Seconds(10);

bool BecomesWebSocket(const HeaderList& client, const UpstreamHead& head) {
  HeaderList asked;
  AddUpgrade(client, asked);
  return head.status == http_status::kSwitchingProtocols && AgreesToUpgrade(asked, head.headers);
}

}  // namespace

asio::awaitable<std::optional<AttemptEnd>> Attempt::Send() {
  pool_ = state_.loop.PoolOf(state_.forward->replica);
  if (auto unsuitable = Unsuitable(pool_.get())) co_return std::move(unsuitable);
  if (state_.forward->prefill) {
    prefill_ = std::make_unique<PrefillStage>(state_, admission_.ticket());
    if (auto end = co_await prefill_->Run()) co_return std::move(end);
    prefill_.reset();
  }
  if (MayBeSilent(state_.request.endpoint, state_.facts())) state_.silent_work.emplace(state_.engine().notes);
  if (state_.answer.carried > 0) {
    co_await CountText(*pool_);
    if (auto end = EndAfterCount()) co_return std::move(end);
  }
  if (MergedAnswer::MayMerge(state_)) {
    merged_ = std::make_unique<MergedAnswer>(state_, admission_, delivery_);
    if (auto end = co_await merged_->Run(pool_, EngineHeaders(state_, admission_.ticket().id())))
      co_return std::move(end);
  }
  while (true) {
    plan_ = MakePlan();
    reply_ = Reply();
    if (auto end = co_await Begin(*pool_)) co_return std::move(end);
    if (!http_status::IsError(reply_.status)) co_return std::nullopt;
    AttemptEnd end = co_await ReadEngineError();
    // The engine said that it has no messages, and it may have chats.
    const bool as_chat = end.denied && !plan_.translate && MessageAsChat::Needed(state_);
    if (!as_chat) co_return end;
  }
}

std::optional<AttemptEnd> Attempt::Unsuitable(const UpstreamPool* pool) const {
  if (pool == nullptr || state_.forward->replica.value() >= state_.fleet->engines.size() ||
      !state_.engine().capabilities) {
    // It left, or changed, behind the decision: the core knows already.
    return NothingSent(EngineErrorKind::kConnect, "The engine's address is not known.");
  }
  const Capabilities& capabilities = *state_.engine().capabilities;
  if (!capabilities.Supports(state_.request.endpoint)) {
    const ModelAccess* model = state_.fleet->AccessOf(state_.prepared.model);
    const bool another = model != nullptr && model->endpoints.Has(state_.request.endpoint);
    return EndpointMissing(state_.facts().model, state_.request.path(), another);
  }
  if (state_.facts().background && !capabilities.names_responses) {
    return EndpointMissing(state_.facts().model, state_.request.path(), /*another=*/true);
  }
  if (state_.ledger.LostAt(state_.forward->replica)) {
    AttemptEnd end = NothingSent(EngineErrorKind::kClosed,
                                 "The engine failed with this request, and no other replica of the model can take it.");
    end.hopeless = true;
    return end;
  }
  if (state_.answer.carried > 0 && !capabilities.Continues(state_.request.endpoint)) {
    return NothingSent(EngineErrorKind::kServer, "The engine that was free cannot continue the answer.");
  }
  return std::nullopt;
}

asio::awaitable<void> Attempt::CountText(UpstreamPool& pool) {
  const std::optional<Tokens> tokens =
      co_await CountByEngine(state_, pool, exchange_.emplace(), EngineHeaders(state_, admission_.ticket().id()));
  exchange_.reset();  // The engine did not get the request.
  if (!tokens) co_return state_.answer.EstimateText(state_.facts().max_output);
  state_.answer.CountText(*tokens);
  state_.answer.relayed.prompt =
      co_await CountPromptByEngine(state_, pool, exchange_.emplace(), EngineHeaders(state_, admission_.ticket().id()));
  exchange_.reset();
}

std::optional<AttemptEnd> Attempt::EndAfterCount() const {
  if (auto interrupted = Interruption(state_.client(), admission_.ticket()).End()) return interrupted;
  if (state_.given_up) return NothingSent(*state_.given_up, "The engine does not work any more.");
  const RequestFacts& facts = state_.facts();
  const bool all = facts.max_output > Tokens(0) && state_.answer.carried >= facts.max_output.value();
  // The rules see that only the end of the answer is missing.
  if (all) return NothingSent(EngineErrorKind::kConnect, "The answer has all the tokens of its limit.");
  return std::nullopt;
}

// The request is spliced here, so its memory is free before the answer is read.
asio::awaitable<std::optional<AttemptEnd>> Attempt::Begin(UpstreamPool& pool) {
  const SessionRequest& request = state_.request;
  std::optional<SplicedBody> body;
  std::unique_ptr<MessageAsChat> chat;
  if (plan_.translate) {
    chat = std::make_unique<MessageAsChat>(state_, MakeOrder());
    if (auto end = co_await chat->Plan()) co_return std::move(end);
  } else {
    body.emplace(request.body, request.endpoint, state_.facts(), MakeOrder());
  }
  UpstreamRequest upstream;
  upstream.method = request.method == "HEAD" ? "GET" : std::string(request.method);
  upstream.target = Target();
  upstream.headers = EngineHeaders(state_, admission_.ticket().id());
  upstream.body = chat ? chat->Pieces() : body->pieces();
  upstream.switches = request.endpoint == Endpoint::kRealtime;
  upstream.repeatable = !state_.facts().has_effects && !upstream.switches;
  exchange_.emplace();
  if (state_.Left(state_.limits->first_byte_timeout) <= Duration()) {
    co_return NothingSent(EngineErrorKind::kTimeout, "The answer takes longer than limits.answer_timeout.");
  }
  std::optional<absl::Status> written = pool.SendNow(*exchange_, std::move(upstream));
  if (!written) {
    const Duration timeout = state_.Left(state_.limits->connect_timeout + state_.limits->body_timeout);
    written = co_await pool.FinishSend(*exchange_, timeout);
  }
  if (auto end = SendFailed(state_, admission_.ticket(), *exchange_, *written)) co_return end;
  const Duration first_byte = IsQuick(request.endpoint) ? std::min(kFreePatience, state_.limits->first_byte_timeout)
                                                        : state_.limits->first_byte_timeout;
  const Duration waited = merged_ ? merged_->waited() : Duration();
  const Duration patience = std::max(Duration(), first_byte - waited);
  auto head = co_await exchange_->ReadHead(state_.Left(patience));
  if (!head.ok()) {
    co_return ReadFailed(state_, admission_.ticket(), head.status(), HeadFault(head.status()), /*in_body=*/false);
  }
  co_return TakeHead(*head);
}

// Only the client of a passed path may ask for a part.
bool Attempt::IsAnswer(int status) const {
  if (status == http_status::kResetContent) return false;
  if (status != http_status::kPartialContent) return http_status::IsSuccess(status);
  return PassesAnswer(state_.request.endpoint) &&
         !FindHeader(EngineHeaders(state_, admission_.ticket().id()), "range").empty();
}

std::optional<AttemptEnd> Attempt::TakeHead(const UpstreamHead& head) {
  state_.heard = Now();
  reply_.status = state_.engine_status = head.status;
  if (http_status::IsError(head.status)) return std::nullopt;
  const bool switches = state_.request.endpoint == Endpoint::kRealtime;
  const bool good = switches ? BecomesWebSocket(*state_.request.headers, head) : IsAnswer(head.status);
  if (!good) {
    // A client that comes later must not get what may follow.
    exchange_->Abort();
    if (PassesAnswer(state_.request.endpoint) && http_status::IsRedirect(head.status)) {
      return EngineRedirects(head.status, FindHeader(head.headers, "location"));
    }
    const bool broken = switches && head.status == http_status::kSwitchingProtocols;
    return EngineFailed(EngineErrorKind::kGarbage,
                        broken ? "The engine's handshake does not fit what the WebSocket's client offered."
                               : absl::StrCat("The engine answered with status ", head.status, "."));
  }
  if (head.early) {
    return EngineFailed(EngineErrorKind::kGarbage, "The engine answered before it had the whole request.");
  }
  const EngineAccess& engine = state_.engine();
  if (engine.notes && engine.notes->wants_answers.load(std::memory_order_relaxed)) {
    state_.loop.edge().report(state_.forward->replica, EngineNews::kAnswer);
  }
  state_.engine_headers = HeadersForClient(head.headers);
  if (state_.facts().background) Detach();
  reply_.event_stream = head.event_stream;
  reply_.length = head.length;
  reply_.content_type = std::string(FindHeader(head.headers, "content-type"));
  if (reply_.content_type.empty()) reply_.content_type = "application/json";
  return std::nullopt;
}

asio::awaitable<std::optional<ShortBody>> Attempt::ReadErrorBody() {
  ShortBody body = co_await ReadShortBody(state_, *exchange_, kMaxErrorBody);
  if (Interruption(state_.client(), admission_.ticket()).any()) co_return std::nullopt;
  co_return std::move(body);
}

asio::awaitable<AttemptEnd> Attempt::ReadEngineError() {
  const int status = reply_.status;
  const std::optional<ShortBody> body = co_await ReadErrorBody();
  if (!body) co_return *Interruption(state_.client(), admission_.ticket()).End();
  EngineError error = ParseEngineError(status, body->bytes);
  if (!body->fits) {
    error.message = "The engine reported an error that is too long to be passed on.";
    error.unknown_shape = false;
  }
  if (!http_status::IsError(error.status)) error.status = status;
  const bool stored = state_.request.endpoint == Endpoint::kStoredResponse;
  // Servers of Python refuse the handshake of a path that they do not have with 403.
  const bool no_socket = state_.request.endpoint == Endpoint::kRealtime && status == http_status::kForbidden;
  if (no_socket) co_return EndpointMissing(state_.facts().model, state_.request.path(), /*another=*/true);
  if (LacksPath(error)) MessageAsChat::NoteMissing(state_);
  if (LacksPath(error) && !stored)
    co_return EndpointMissing(state_.facts().model, state_.request.path(), /*another=*/true);
  co_return SaidByEngine(state_, error, /*in_stream=*/false, delivery_.resume_due());
}

// Some engines refuse a stream with an error of status 200.
asio::awaitable<AttemptEnd> Attempt::ReadNoStream() {
  const std::optional<ShortBody> body = co_await ReadErrorBody();
  if (!body) co_return *Interruption(state_.client(), admission_.ticket()).End();
  if (penstock::ReadAnswer(state_.request.endpoint, body->bytes).error) {
    co_return SaidByEngine(state_, ErrorInAnswer(body->bytes), /*in_stream=*/false, delivery_.resume_due());
  }
  AttemptEnd end = EngineFailed(EngineErrorKind::kGarbage,
                                "The engine answered a streaming request with something that is no event stream.");
  end.orderly = true;
  co_return end;
}

asio::awaitable<AttemptEnd> Attempt::ReadWhole() {
  AttemptEnd end;
  {  // The memory of the answer is free while the engine works on.
    WholeAnswer answer(state_, admission_, delivery_, *exchange_, {std::move(reply_.content_type), reply_.length});
    std::optional<AttemptEnd> now = plan_.translate ? std::nullopt : answer.RunNow();
    if (now) {
      end = *std::move(now);
    } else if (plan_.translate) {
      end = co_await answer.RunTranslated();
    } else {
      end = co_await answer.Run();
    }
  }
  if (state_.facts().background && end.kind == AttemptEnd::Kind::kFinished) {
    watch_ = std::make_unique<BackgroundWatch>(state_, pool_, EngineHeaders(state_, admission_.ticket().id()));
    const Outcome outcome = co_await watch_->Run();
    admission_.Close(outcome);
  }
  co_return end;
}

asio::awaitable<AttemptEnd> Attempt::ReadStream() {
  std::string().swap(reply_.content_type);  // The client of a stream gets none of it.
  AnswerStream stream(state_, admission_, delivery_, plan_.reassemble, plan_.translate);
  const auto take = [&stream](absl::string_view bytes) { return stream.Take(bytes); };
  while (true) {
    const absl::StatusOr<bool> ended = co_await exchange_->ReadWhile(stream.NextWait(), take);
    // The relay counted and stored the piece, which may be half written: the client gets it whatever happened since.
    bool alive = true;
    if (stream.undelivered()) alive = co_await stream.Deliver();
    while (alive && stream.has_long_event()) {
      co_await stream.ReadLongEvent();
      if (stream.undelivered()) alive = co_await stream.Deliver();
    }
    if (!alive) co_return delivery_.ClientEnd();
    if (auto end = stream.Judge(ended)) co_return *std::move(end);
    if (stream.over()) break;
  }
  if (state_.engine().capabilities->closes_after_stream) exchange_->Abort();
  if (plan_.reassemble) co_return co_await stream.SendAssembled();
  co_return co_await stream.Finish();
}

}  // namespace penstock
