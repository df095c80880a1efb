#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/dialect/answer_reader.h"
#include "backends/dialect/engine_error.h"
#include "backends/engines/catalogue/engine_catalogue.h"
#include "base/clock.h"
#include "router/openai/request/routes.h"
#include "router/session/generation.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

constexpr size_t kMaxErrorBody = 1 << 20;
constexpr size_t kMaxEvent = 16 << 20;

// Before the head, data that makes no sense is no HTTP; within the body it is an answer that was cut.
EngineErrorKind KindOf(const absl::Status& status, bool in_body) {
  if (absl::IsDeadlineExceeded(status)) return EngineErrorKind::kTimeout;
  if (absl::IsUnavailable(status) || absl::IsCancelled(status)) return EngineErrorKind::kClosed;
  return in_body && absl::IsDataLoss(status) ? EngineErrorKind::kClosed : EngineErrorKind::kGarbage;
}

}  // namespace

Generation::Plan Generation::MakePlan() const {
  Plan plan;
  plan.reassemble = !facts_.stream && seat().capabilities->stream_everything && facts_.Reassemblable(endpoint_);
  plan.stream_upstream = facts_.stream || plan.reassemble;
  return plan;
}

SpliceOrder Generation::MakeOrder(const Plan& plan) const {
  SpliceOrder order;
  order.engine_model = fleet_->book.EngineModelName(forward_->replica, model_);
  order.force_stream = plan.reassemble;
  const bool chunked = endpoint_ == Endpoint::kChat || endpoint_ == Endpoint::kCompletions;
  order.ask_usage = plan.stream_upstream && chunked;
  if (state_.carried > 0) {
    order.continue_from = state_.PromptText();
    order.already_generated = Tokens(state_.carried);
  }
  return order;
}

Generation::AttemptEnd Generation::ClientGone() {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kClientGone;
  return end;
}

bool Generation::IsInterrupted() const { return client_.gone() || ticket_->cut() || ticket_->abort_requested(); }

std::optional<Generation::AttemptEnd> Generation::Interrupted() const {
  if (client_.gone()) return ClientGone();
  if (!ticket_->cut() && !ticket_->abort_requested()) return std::nullopt;
  AttemptEnd end;
  end.kind = ticket_->cut() ? AttemptEnd::Kind::kCut : AttemptEnd::Kind::kAborted;
  return end;
}

Generation::AttemptEnd Generation::Broken(EngineErrorKind kind, absl::string_view what) const {
  AttemptEnd end;
  end.kind = WorthAnother(kind) ? AttemptEnd::Kind::kPlaceAgain : AttemptEnd::Kind::kFailed;
  end.error = std::make_unique<ApiError>(EngineFailure(kind, what));
  if (kind == EngineErrorKind::kTimeout) end.error->status = 504;
  end.engine_error = kind;
  // An answer that takes too long in all is no fault of its last engine.
  end.is_engine_error = !(kind == EngineErrorKind::kTimeout && PastDeadline());
  return end;
}

Generation::AttemptEnd Generation::FromReadError(const absl::Status& status, absl::string_view what,
                                                 bool in_body) const {
  if (auto interrupted = Interrupted()) return *std::move(interrupted);
  return Broken(KindOf(status, in_body), absl::StrCat(what, " (", status.message(), ")."));
}

Generation::AttemptEnd Generation::FromEngineError(const EngineError& error, bool in_stream) const {
  AttemptEnd end;
  end.error = std::make_unique<ApiError>(FromEngine(error));
  end.is_engine_error = true;
  const bool overflow = IsPoolOverflow(error.message);
  if (overflow) {
    end.engine_error = EngineErrorKind::kOverflow;
    end.kind = AttemptEnd::Kind::kPlaceAgain;
  } else if (error.status == 429 || error.status == 503) {
    end.engine_error = EngineErrorKind::kPushedBack;
    end.kind = AttemptEnd::Kind::kPlaceAgain;
    end.error->status = 503;
    end.error->type = "server_error";
    end.error->code = "service_unavailable";
    end.error->retry_after = Duration::Seconds(1);
  } else if (end.error->status < 500 && !resume_due_) {
    end.kind = AttemptEnd::Kind::kRejected;
    end.is_engine_error = in_stream;
  } else {
    const bool other_may = end.error->status >= 500 && end.error->status != 501;
    end.kind = other_may && WorthAnother(end.engine_error) ? AttemptEnd::Kind::kPlaceAgain : AttemptEnd::Kind::kFailed;
    if (end.error->code.empty()) end.error->code = "engine_error";
  }
  if (end.kind != AttemptEnd::Kind::kRejected) end.error->reason = std::string(LabelOf(end.engine_error));
  return end;
}

// What speaks against the replica before anything is sent.
std::optional<Generation::AttemptEnd> Generation::Unsuitable(const UpstreamPool* pool) const {
  if (pool == nullptr || forward_->replica.value() >= fleet_->seats.size() || !seat().capabilities) {
    // It left, or changed, behind the decision: the core has been told.
    AttemptEnd end = Broken(EngineErrorKind::kConnect, "The engine's address is not known.");
    end.is_engine_error = false;
    return end;
  }
  if (!seat().capabilities->Supports(endpoint_)) {
    AttemptEnd end;
    end.kind = AttemptEnd::Kind::kRejected;
    end.error = std::make_unique<ApiError>(BadRequest(
        BadInput::kPath, "The engine of this model does not offer this endpoint.", "model", "unsupported_endpoint"));
    end.error->status = 404;
    return end;
  }
  if (state_.carried > 0 && endpoint_ == Endpoint::kChat && !seat().capabilities->continues_final_message) {
    AttemptEnd end = Broken(EngineErrorKind::kServer, "The engine that was free cannot continue the answer.");
    end.is_engine_error = false;
    return end;
  }
  return std::nullopt;
}

asio::awaitable<Generation::AttemptEnd> Generation::Attempt() {
  UpstreamPool* pool = loop_.PoolOf(forward_->replica);
  if (auto unsuitable = Unsuitable(pool)) co_return *std::move(unsuitable);
  const Plan plan = MakePlan();
  Reply reply;
  if (auto end = co_await Begin(*pool, plan, reply)) co_return *std::move(end);
  if (reply.status >= 400) co_return co_await ReadEngineError(reply.status);
  if (plan.stream_upstream && reply.event_stream) co_return co_await ReadStream(plan.reassemble);
  if (!plan.stream_upstream || plan.reassemble) co_return co_await ReadWhole(reply.type);
  co_return Broken(EngineErrorKind::kGarbage,
                   "The engine answered a streaming request with something that is no event stream.");
}

// Until the head of the engine's answer. What it takes to get there is gone before the answer is read.
asio::awaitable<std::optional<Generation::AttemptEnd>> Generation::Begin(UpstreamPool& pool, const Plan& plan,
                                                                         Reply& reply) {
  const SplicedBody body(request_.body, endpoint_, facts_, MakeOrder(plan));
  UpstreamRequest upstream;
  upstream.target = std::string(EnginePath(endpoint_));
  upstream.headers = HeadersForEngine(request_.headers, seat().key, answer_.request_id());
  upstream.body = body.pieces();
  exchange_.emplace();
  std::optional<absl::Status> written = pool.SendNow(*exchange_, upstream);
  if (!written) written = co_await pool.FinishSend(*exchange_, Left(limits_.connect_timeout + limits_.body_timeout));
  const absl::Status& sent = *written;
  if (auto interrupted = Interrupted()) co_return std::move(interrupted);
  if (!sent.ok()) {
    co_return Broken(EngineErrorKind::kConnect, absl::StrCat("The engine cannot be reached (", sent.message(), ")."));
  }
  auto head = co_await exchange_->ReadHead(Left(limits_.first_byte_timeout));
  if (!head.ok()) co_return FromReadError(head.status(), "The engine did not answer", /*in_body=*/false);
  co_return TakeHead(*head, reply);
}

std::optional<Generation::AttemptEnd> Generation::TakeHead(const UpstreamHead& head, Reply& reply) {
  reply.status = head.status;
  if (head.status >= 400) return std::nullopt;
  if (head.status < 200 || head.status >= 300) {
    return Broken(EngineErrorKind::kGarbage, absl::StrCat("The engine answered with status ", head.status, "."));
  }
  if (seat().wants_answers && seat().wants_answers->load(std::memory_order_relaxed)) {
    loop_.edge().report(forward_->replica, EngineNews::kAnswer);
  }
  engine_headers_.Clear();
  for (const auto [name, value] : head.headers) {
    if (RelayedToClient(name)) engine_headers_.Add(name, value);
  }
  reply.event_stream = head.event_stream;
  reply.type = std::string(head.Find("content-type"));
  if (reply.type.empty()) reply.type = "application/json";
  return std::nullopt;
}

asio::awaitable<Generation::AttemptEnd> Generation::ReadEngineError(int status) {
  const auto body = co_await exchange_->ReadAll(Left(limits_.gap_timeout), kMaxErrorBody);
  if (auto interrupted = Interrupted()) co_return *std::move(interrupted);
  EngineError error = ParseEngineError(status, body.ok() ? absl::string_view(*body) : absl::string_view());
  if (error.status < 400) error.status = status;
  co_return FromEngineError(error, /*in_stream=*/false);
}

asio::awaitable<Generation::AttemptEnd> Generation::ReadWhole(const std::string& type) {
  const size_t longest = static_cast<size_t>(limits_.max_answer.value());
  std::optional<absl::string_view> body = exchange_->WholeAtHand(longest);
  std::string read;
  if (!body) {
    auto all = co_await exchange_->ReadAll(Left(limits_.first_byte_timeout), longest);
    if (!all.ok()) co_return FromReadError(all.status(), "The engine's answer cannot be read", /*in_body=*/true);
    read = *std::move(all);
    body = read;
  }
  const AnswerFacts facts = ReadAnswer(endpoint_, *body);
  if (facts.malformed) co_return Broken(EngineErrorKind::kGarbage, "The engine's answer is not a JSON object.");
  state_.usage = facts.usage;
  state_.finish_reason = facts.finish_reason;
  // The engine's work is done: its memory is free before the client has read the answer.
  CloseTicket(Outcome::kFinished);
  any_answer_ = true;
  const HeaderList headers = AnswerHeaders();
  const ClientConnection::Written written = answer_.WholeNow(200, type, headers, *body);
  bool alive = written == ClientConnection::Written::kAll;
  if (written == ClientConnection::Written::kPart) alive = co_await answer_.FinishWhole();
  if (!alive) co_return ClientGone();
  if (facts.usage) active_.OnTokens(facts.usage->output.value(), Now());
  co_return AttemptEnd();
}

// Where a stream stands between two reads.
struct Generation::Passing {
  StreamRelay relay;
  Duration wait;  // For the next piece.
  StreamRelay::Verdict verdict = StreamRelay::Verdict::kGoOn;
  bool undelivered = false;  // The client has to be waited for, or told something first.
  bool begun = false;        // Part of it is with the client.
};

asio::awaitable<Generation::AttemptEnd> Generation::ReadStream(bool reassemble) {
  Passing passing{StreamRelay(endpoint_, facts_, state_, /*to_client=*/!reassemble), Duration()};
  StreamRelay& relay = passing.relay;
  relay.max_reassembled = static_cast<size_t>(limits_.max_answer.value());
  const auto take = [this, &passing](absl::string_view bytes) { return Pass(bytes, passing); };
  while (true) {
    passing.wait = Left(relay.any_event() ? limits_.gap_timeout : limits_.first_byte_timeout);
    const absl::StatusOr<bool> ended = co_await exchange_->ReadWhile(passing.wait, take);
    // What was taken is counted and kept, and may be half written: the client gets it whatever happened since.
    if (std::exchange(passing.undelivered, false) && !co_await Deliver(passing)) co_return ClientGone();
    // Whatever happens to an engine behind its finish, the client has lost nothing.
    if (auto interrupted = Interrupted(); interrupted && !relay.finished()) co_return *std::move(interrupted);
    if (!ended.ok()) {
      if (relay.finished()) break;
      co_return FromReadError(ended.status(), "The engine's stream broke off", /*in_body=*/true);
    }
    if (*ended) break;
    if (client_.gone()) co_return ClientGone();
    const bool error = passing.verdict == StreamRelay::Verdict::kError;
    const bool too_long = passing.verdict == StreamRelay::Verdict::kTooLong;
    const bool broken = error || too_long || passing.verdict == StreamRelay::Verdict::kMalformed;
    if (broken && relay.finished()) break;
    if (error) co_return FromEngineError(relay.error(), /*in_stream=*/true);
    if (too_long) co_return Broken(EngineErrorKind::kGarbage, "The engine's answer is longer than limits.max_answer.");
    if (broken || relay.unfinished_bytes() > kMaxEvent) {
      co_return Broken(EngineErrorKind::kGarbage, "The engine sent an event that is not JSON.");
    }
  }
  if (seat().capabilities->closes_after_stream) exchange_->Abort();
  if (reassemble) co_return co_await SendAssembled(relay);
  co_return co_await EndStream(relay);
}

// False: ReadStream has to look, because something is to be waited for, is wrong, or because the next wait is another.
bool Generation::Pass(absl::string_view bytes, Passing& passing) {
  StreamRelay& relay = passing.relay;
  if (IsInterrupted() && !relay.finished()) return false;
  const Instant now = Now();
  relay.comments_pass = answer_.head_sent();
  const bool first = !relay.any_event();
  passing.verdict = relay.Feed(bytes, now);
  if (relay.any_text()) ticket_->OnFirstToken(state_.counter, forward_->replica, facts_.n * facts_.prompts);
  passing.undelivered = !relay.pieces().empty();
  passing.begun = false;
  if (passing.undelivered && !resume_due_) {
    any_answer_ = any_answer_ || relay.any_event();
    const HeaderList headers = answer_.head_sent() ? HeaderList() : AnswerHeaders();
    const ClientConnection::Written written = answer_.EventsNow(headers, relay.pieces());
    if (written == ClientConnection::Written::kGone) return false;
    passing.undelivered = passing.begun = written == ClientConnection::Written::kPart;
    if (!passing.undelivered) NoteDelivery(relay, now);
  }
  const bool fine = passing.verdict == StreamRelay::Verdict::kGoOn || passing.verdict == StreamRelay::Verdict::kDone;
  return fine && !passing.undelivered && !first && relay.unfinished_bytes() <= kMaxEvent &&
         answer_deadline_ - now > passing.wait;
}

asio::awaitable<bool> Generation::Deliver(Passing& passing) {
  if (passing.begun) {
    if (!co_await answer_.FinishEvents()) co_return false;
  } else {
    if (resume_due_ && !co_await AnnounceResume()) co_return false;
    any_answer_ = any_answer_ || passing.relay.any_event();
    const HeaderList headers = answer_.head_sent() ? HeaderList() : AnswerHeaders();
    if (!co_await answer_.Events(headers, passing.relay.pieces())) co_return false;
  }
  NoteDelivery(passing.relay, Now());
  co_return true;
}

// The client has what the last piece brought.
void Generation::NoteDelivery(const StreamRelay& relay, Instant now) {
  const int64_t tokens = relay.tokens_in_pieces();
  keep_alive_.Arm(limits_.keepalive_after, now);
  state_.delivered += tokens;
  if (tokens == 0) return;
  if (!first_token_at_) first_token_at_ = now;
  last_token_at_ = now;
  active_.OnTokens(tokens, now);
}

asio::awaitable<Generation::AttemptEnd> Generation::EndStream(StreamRelay& relay) {
  if (!relay.finished()) {
    const bool garbage = relay.unfinished_bytes() > 0;
    co_return Broken(garbage ? EngineErrorKind::kGarbage : EngineErrorKind::kClosed,
                     "The engine's stream ended too early.");
  }
  if (!relay.done() && endpoint_ != Endpoint::kResponses) {
    if (!co_await CloseAnswer("")) co_return ClientGone();
    co_return AttemptEnd();
  }
  CloseTicket(Outcome::kFinished);
  if (!co_await answer_.End()) co_return ClientGone();
  co_return AttemptEnd();
}

asio::awaitable<Generation::AttemptEnd> Generation::SendAssembled(StreamRelay& relay) {
  const auto body = relay.Assembled();
  if (!body.ok()) {
    co_return Broken(relay.any_event() ? EngineErrorKind::kGarbage : EngineErrorKind::kClosed,
                     absl::StrCat("The engine's answer is incomplete (", body.status().message(), ")."));
  }
  CloseTicket(Outcome::kFinished);
  any_answer_ = true;
  const HeaderList headers = AnswerHeaders();
  if (!co_await answer_.Whole(200, "application/json", headers, *body)) {
    co_return ClientGone();
  }
  active_.OnTokens(state_.generated(), Now());
  co_return AttemptEnd();
}

}  // namespace penstock
