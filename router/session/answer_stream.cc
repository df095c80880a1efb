#include "router/session/answer_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/live/aside/run_aside.h"
#include "router/live/loop_turn.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// The body of a complete answer may take this long to end; its connection can then serve another request.
constexpr Duration kEndOfBody = Duration::Seconds(1);
// The piece of a reassembled answer that is written in one turn of the loop. A shorter answer has a length.
constexpr size_t kAssembledPiece = 128 << 10;
constexpr absl::string_view kJson = "application/json";

}  // namespace

AnswerStream::AnswerStream(SessionState& state, Admission& admission, Delivery& delivery, bool reassemble,
                           bool translate)
    : state_(state),
      admission_(admission),
      delivery_(delivery),
      client_(state.client()),
      interruption_(state.client(), admission.ticket()),
      relay_(state.request.endpoint, state.facts(), state.answer,
             reassemble ? std::optional<size_t>(state.limits->max_answer.value()) : std::nullopt),
      memory_(state) {
  if (translate) writer_ = std::make_unique<anthropic::MessageWriter>(state.Unique());
  first_event_due_ = Now() + state.limits->first_byte_timeout;
  state.answer.relayed.per_event = state.loop.TokensPerEventOf(state.forward->replica).ratio();
  state.answer.relayed.events = 0;
}

void AnswerStream::ExpectDelivery() {
  delivery_.Expect(relay_);
  // Before the write: a client that has its answer may ask again at once. The engine may hold its connection open.
  if (relay_.done() && !delivery_.holds()) state_.prepared.place_of_key.reset();
}

bool AnswerStream::HoldBytes() {
  size_t bytes = relay_.held_bytes() + (writer_ ? writer_->unfinished_bytes() : 0);
  size_t pieces = 0;
  if (undelivered_ && !delivery_.holds()) {
    for (absl::string_view piece : relay_.pieces()) pieces += piece.size();
  }
  // The pieces of a long event lie in the buffer that counts already.
  bytes = bytes > StreamRelay::kLongBuffer ? std::max(bytes, pieces) : bytes + pieces;
  return memory_.Hold(bytes);
}

size_t AnswerStream::LongestEvent() const { return LongestAtOnce(state_.limits->max_answer); }

Duration AnswerStream::NextWait() {
  if (relay_.done()) return wait_ = kEndOfBody;
  const LimitsConfig& limits = *state_.limits;
  // A client that waits for a whole answer waits through a pause of its engine, too.
  const bool patient = state_.facts().stream_inside && state_.request.inside == nullptr;
  const Duration gap = patient ? std::max(limits.gap_timeout, limits.first_byte_timeout) : limits.gap_timeout;
  if (relay_.any_event()) return wait_ = state_.Left(gap);
  // Comments are no answer.
  return wait_ = std::max(Duration(), state_.Left(first_event_due_ - Now()));
}

bool AnswerStream::Take(absl::string_view bytes) {
  if (interruption_.any() && !relay_.finished()) return false;
  over_ = relay_.closed();
  if (over_) return false;
  const Instant now = Now();
  state_.heard = now;
  relay_.comments_pass = client_.begun();
  const bool first = !relay_.any_event();
  result_ = relay_.Feed(writer_ ? writer_->Take(bytes) : bytes, now);
  Pass(now);
  const bool fine = !no_room_ && (result_ == StreamRelay::Result::kGoOn || result_ == StreamRelay::Result::kDone);
  return fine && !has_long_event() && !undelivered_ && !first && UnfinishedBytes() <= LongestEvent() &&
         (relay_.done() ? wait_ == kEndOfBody : state_.answer_deadline - now > wait_);
}

void AnswerStream::Pass(Instant now) {
  if (writer_ && (writer_->mixed_up() || writer_->unreadable())) result_ = StreamRelay::Result::kMalformed;
  if (writer_ && writer_->impossible_usage()) state_.answer.usage_check.failed = true;
  if (relay_.any_text()) {
    state_.silent_work.reset();
    const RequestFacts& facts = state_.facts();
    const double per_step = state_.engine().speculates ? state_.answer.relayed.per_event : 1;
    admission_.ticket().OnFirstToken(state_.answer.relayed.counter, state_.forward->replica, facts.n * facts.prompts,
                                     per_step);
  }
  const bool fixed = state_.answer.other_text || !state_.answer.text.whole();
  // A line of a batch can run again from its start.
  if (fixed && state_.request.inside == nullptr) admission_.ticket().FixAnswer();
  // The engine's work is done; the body may end later.
  const bool done = result_ == StreamRelay::Result::kDone && state_.facts().stream;
  if (done && !LacksFinish()) admission_.Close(Outcome::kFinished);
  undelivered_ = !relay_.pieces().empty();
  begun_ = false;
  if (undelivered_ && !delivery_.resume_due()) {
    state_.any_answer = state_.any_answer || relay_.any_event();
    const HeaderList headers = client_.begun() ? HeaderList() : delivery_.Headers();
    ExpectDelivery();
    const Written written = client_.Events(headers, relay_.pieces());
    if (written == Written::kGone) return;
    undelivered_ = begun_ = written == Written::kPart;
    if (!undelivered_) OnDelivered(now);
  }
  no_room_ = !HoldBytes();
}

asio::awaitable<void> AnswerStream::ReadLongEvent() {
  asio::io_context& loop = state_.loop.io();
  if (result_ == StreamRelay::Result::kLong) {
    auto event = relay_.TakeLong();
    const size_t bytes = event->event.data.size();
    auto work = [event = std::move(event)]() mutable {
      event->Read();
      return std::move(event);
    };
    auto read = co_await RunAside(loop, bytes, std::move(work));
    result_ = relay_.Resume(std::move(read), Now());
  } else {
    auto work = [writer = std::move(writer_)]() mutable {
      writer->TakeLong();
      return std::move(writer);
    };
    writer_ = co_await RunAside(loop, SseSplitter::kLong, std::move(work));
    result_ = relay_.FeedOwned(writer_->GiveEvents(), Now());
  }
  Pass(Now());
}

asio::awaitable<bool> AnswerStream::Deliver() {
  undelivered_ = false;
  state_.answer.relayed.counter.BeginWait();
  if (begun_) {
    if (!co_await client_.FinishEvents()) co_return false;
  } else {
    if (delivery_.resume_due() && !co_await delivery_.AnnounceResume()) co_return false;
    state_.any_answer = state_.any_answer || relay_.any_event();
    const HeaderList headers = client_.begun() ? HeaderList() : delivery_.Headers();
    ExpectDelivery();
    if (!co_await SendEvents(client_, headers, relay_.pieces())) co_return false;
  }
  const Instant now = Now();
  state_.answer.relayed.counter.EndWait(now);
  OnDelivered(now);
  HoldBytes();
  co_return true;
}

std::optional<AttemptEnd> AnswerStream::Judge(const absl::StatusOr<bool>& ended) {
  using Result = StreamRelay::Result;
  // Whatever happens to an engine behind its finish, the client has lost nothing.
  const bool finished = relay_.finished();
  if (auto interrupted = interruption_.End(); interrupted && !finished) return interrupted;
  if (!ended.ok()) {
    over_ = finished;
    if (finished) return std::nullopt;
    return ReadFailed(state_, admission_.ticket(), ended.status(), "The engine's stream broke off.", /*in_body=*/true);
  }
  over_ = over_ || *ended;
  if (over_) return std::nullopt;
  if (client_.gone() || !client_.unfit().empty()) return delivery_.ClientEnd();
  const bool broken = result_ != Result::kGoOn && result_ != Result::kDone;
  over_ = broken && finished;
  if (over_) return std::nullopt;
  if (no_room_ && !finished) return NoRoomForAnswer(state_);
  if (result_ == Result::kError) {
    const bool in_stream = relay_.any_event() || !state_.facts().stream_inside;
    return SaidByEngine(state_, relay_.error(), in_stream, delivery_.resume_due());
  }
  if (result_ == Result::kTooLong) {
    return AnswerTooLong("The engine's answer is longer than limits.max_answer, or an event of it than 8 MiB.");
  }
  if (result_ == Result::kEmpty) {
    return EngineFailed(EngineErrorKind::kGarbage, "The engine ended its stream without an answer.");
  }
  if (CallsMixedUp()) return EngineFailed(EngineErrorKind::kGarbage, "The engine's calls of tools are mixed up.");
  if (Unreadable()) {
    return EngineFailed(
        EngineErrorKind::kGarbage,
        "The engine sent an event that is not JSON, has content that is no text, or lists too many parts "
        "or calls of tools.");
  }
  if (broken)
    return EngineFailed(EngineErrorKind::kGarbage, "The engine sent an event that is not JSON, or of another API.");
  if (UnfinishedBytes() > LongestEvent())
    return AnswerTooLong("The engine sent an event that is longer than 32 MiB or limits.max_answer.");
  return std::nullopt;
}

asio::awaitable<bool> AnswerStream::SendRest() {
  if (relay_.pieces().empty()) co_return true;
  const HeaderList headers = client_.begun() ? HeaderList() : delivery_.Headers();
  delivery_.Expect(relay_);
  if (!co_await SendEvents(client_, headers, relay_.pieces())) co_return false;
  OnDelivered(Now());
  co_return true;
}

bool AnswerStream::LacksFinish() const { return state_.facts().stream_inside && state_.answer.finish_reason.empty(); }

asio::awaitable<AttemptEnd> AnswerStream::Finish() {
  if (writer_ && !relay_.done()) {
    relay_.Feed(writer_->Finish(), Now());
    const bool alive = co_await SendRest();
    if (!alive) co_return delivery_.ClientEnd();
  }
  if (!relay_.finished()) {
    const bool garbage = UnfinishedBytes() > 0;
    co_return EngineFailed(garbage ? EngineErrorKind::kGarbage : EngineErrorKind::kClosed,
                           "The engine's stream ended too early.");
  }
  if (LacksFinish()) {
    AttemptEnd end = EngineFailed(EngineErrorKind::kGarbage, "The engine's stream ended without a finish reason.");
    end.orderly = true;
    co_return end;
  }
  admission_.Close(Outcome::kFinished);
  bool alive = false;
  // A whole answer tells its usage, also where the engine's stream does not.
  const bool lacks_usage = state_.facts().stream_inside && !state_.answer.usage;
  if ((!relay_.done() || lacks_usage) && state_.request.endpoint != Endpoint::kResponses) {
    if (!relay_.done()) {
      relay_.Flush();
      const bool flushed = co_await SendRest();
      if (!flushed) co_return delivery_.ClientEnd();
    }
    alive = co_await delivery_.CloseStream(/*finish_reason=*/"");
  } else {
    alive = co_await client_.End();
  }
  if (alive && delivery_.cut_short()) co_return EndedBy(AttemptEnd::Kind::kCut);
  co_return alive ? EndedBy(AttemptEnd::Kind::kFinished) : delivery_.ClientEnd();
}

asio::awaitable<AttemptEnd> AnswerStream::SendAssembled() {
  if (!memory_.Hold(relay_.held_bytes() + kAssembledPiece)) co_return NoRoomForAnswer(state_);
  auto answer = relay_.Assembled();
  if (!answer.ok()) {
    co_return EngineFailed(relay_.any_event() ? EngineErrorKind::kGarbage : EngineErrorKind::kClosed,
                           absl::StrCat("The engine's answer is incomplete (", answer.status().message(), ")."));
  }
  admission_.Close(Outcome::kFinished);
  state_.any_answer = true;
  const HeaderList headers = delivery_.Headers();
  std::string piece;
  bool more = answer->Write(kAssembledPiece, &piece);
  bool alive = true;
  if (!more) {
    alive = co_await SendWhole(client_, http_status::kOk, kJson, headers, piece);
  } else {
    client_.BeginWhole(kJson, headers, std::nullopt);
    alive = co_await SendPart(client_, piece);
  }
  const bool in_parts = more;
  while (alive && more) {
    co_await LetOthersRun(state_.loop.io());
    piece.clear();
    more = answer->Write(kAssembledPiece, &piece);
    alive = co_await SendPart(client_, piece);
  }
  if (alive && in_parts) alive = co_await client_.End();
  if (!alive) co_return delivery_.ClientEnd();
  delivery_.OnWhole(state_.answer.output().value());
  co_return AttemptEnd();
}

}  // namespace penstock
