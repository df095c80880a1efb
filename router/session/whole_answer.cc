#include "router/session/whole_answer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/dialect/engine_error.h"
#include "router/live/aside/run_aside.h"
#include "router/session/answer_stream.h"

namespace penstock {
namespace asio = boost::asio;

namespace {

// A longer write may hold the loop for too long.
constexpr size_t kLongestWrite = TextParts::kPart;

AttemptEnd TooLong() { return AnswerTooLong("The engine's answer is longer than limits.max_answer."); }

AttemptEnd TooLongToTranslate(size_t most) {
  return AnswerTooLong(absl::StrCat("The engine's answer is longer than ", most >> 20,
                                    " MiB: a longer chat becomes a message only as a stream."));
}

AttemptEnd NoObject() { return EngineFailed(EngineErrorKind::kGarbage, "The engine's answer is not a JSON object."); }

}  // namespace

std::optional<AttemptEnd> WholeAnswer::RunNow() {
  if (head_.length && *head_.length > Longest()) return TooLong();
  at_hand_ = exchange_.WholeAtHand(Longest());
  if (!at_hand_) return std::nullopt;
  return SendNow(*at_hand_, ReadAnswer(state_.request.endpoint, *at_hand_));
}

asio::awaitable<AttemptEnd> WholeAnswer::Run() {
  if (at_hand_) co_return co_await FinishSend(*at_hand_);
  turn_.Restart(Now());
  std::optional<AttemptEnd> end = co_await Read();
  if (end) co_return *std::move(end);
  const AnswerFacts facts = scan_.Finish();
  end = passing_ ? Judge(facts, held_) : SendNow(held_, facts);
  if (end) co_return *std::move(end);
  if (!passing_) co_return co_await FinishSend(held_);
  bool alive = co_await Pass(held_);
  if (alive) alive = co_await state_.client().End();
  co_return Sent(alive);
}

asio::awaitable<AttemptEnd> WholeAnswer::SendMerged(absl::string_view body) {
  if (auto end = SendNow(body, ReadAnswer(state_.request.endpoint, body))) co_return *std::move(end);
  co_return co_await FinishSend(body);
}

asio::awaitable<AttemptEnd> WholeAnswer::RunTranslated() {
  turn_.Restart(Now());
  const size_t longest = LongestAtOnce(state_.limits->max_answer);
  TextParts chat;
  bool more = true;
  while (more) {
    // The message that is made of the bytes lives beside them.
    if (!memory_.Hold(2 * (size_ + AnswerMemory::kBlock))) co_return NoRoomForAnswer(state_);
    const absl::StatusOr<bool> ended = co_await ReadPiece();
    if (size_ > Longest()) co_return TooLong();
    if (size_ > longest) co_return TooLongToTranslate(longest);
    if (!ended.ok()) {
      co_return ReadFailed(state_, admission_.ticket(), ended.status(), "The engine's answer cannot be read.",
                           /*in_body=*/true);
    }
    if (malformed_) co_return NoObject();
    chat.Add(held_);
    held_.clear();
    more = !*ended;
    if (more) co_await Step();
  }
  TranslatedChat made;
  const size_t bytes = chat.size();
  if (bytes < kWorthRunningAside) {
    made = TranslateChat(std::move(chat), state_.Unique());
  } else {
    auto work = [chat = std::move(chat), unique = state_.Unique()]() mutable {
      return TranslateChat(std::move(chat), unique);
    };
    made = co_await RunAside(state_.loop.io(), bytes, std::move(work));
  }
  if (made.error) co_return SaidByEngine(state_, *made.error, /*in_stream=*/false, delivery_.resume_due());
  if (made.malformed)
    co_return EngineFailed(EngineErrorKind::kGarbage,
                           "The engine's answer is no chat, or lists too many parts or calls of tools.");
  co_return co_await SendTranslated(std::move(made));
}

asio::awaitable<AttemptEnd> WholeAnswer::SendTranslated(TranslatedChat made) {
  const std::string& first = made.message.parts().front();
  if (auto end = made.message.size() <= kLongestWrite ? SendNow(first, made.facts) : Judge(made.facts, first)) {
    co_return *std::move(end);
  }
  if (made.message.size() <= kLongestWrite) co_return co_await FinishSend(first);
  co_return co_await SendParts(std::move(made.message));
}

asio::awaitable<AttemptEnd> WholeAnswer::SendParts(TextParts text) {
  if (!memory_.Hold(text.size())) co_return NoRoomForAnswer(state_);
  state_.any_answer = true;
  const HeaderList headers = delivery_.Headers();
  state_.client().BeginWhole(head_.content_type, headers, text.size());
  bool alive = true;
  for (std::string& part : text.parts()) {
    if (alive) alive = co_await Pass(part);
    std::string().swap(part);
  }
  if (alive) alive = co_await state_.client().End();
  co_return Sent(alive);
}

asio::awaitable<std::optional<AttemptEnd>> WholeAnswer::Read() {
  while (true) {
    if (passing_ || !HasRoom()) {
      if (held_.empty() && !passing_) co_return NoRoomForAnswer(state_);
      const bool alive = co_await PassHeld();
      if (!alive) co_return ClientTakesNoMore(state_.client());
    }
    const absl::StatusOr<bool> ended = co_await ReadPiece();
    if (size_ > Longest()) co_return TooLong();
    if (!ended.ok()) {
      co_return ReadFailed(state_, admission_.ticket(), ended.status(), "The engine's answer cannot be read.",
                           /*in_body=*/true);
    }
    if (malformed_) co_return NoObject();
    if (*ended) co_return std::nullopt;
    co_await Step();
  }
}

asio::awaitable<absl::StatusOr<bool>> WholeAnswer::ReadPiece() {
  const auto take = [this](absl::string_view piece) {
    Take(piece);
    return false;
  };
  const Instant began = Now();
  const absl::StatusOr<bool> ended = co_await exchange_.ReadWhile(state_.Left(left_), take);
  left_ = std::max(Duration(), left_ - (Now() - began));
  co_return ended;
}

void WholeAnswer::Take(absl::string_view piece) {
  state_.heard = Now();
  size_ += piece.size();
  if (size_ > Longest()) return;
  malformed_ = !scan_.Feed(piece);
  held_.append(piece.data(), piece.size());
}

bool WholeAnswer::HasRoom() {
  const size_t wanted = held_.size() + AnswerMemory::kBlock;
  if (wanted <= held_.capacity()) return true;
  if (held_.size() > kMostHeld) return false;
  const size_t doubled = std::min(std::max(wanted, 2 * held_.capacity()), kMostHeld + AnswerMemory::kBlock);
  if (!memory_.Hold(doubled)) return false;
  held_.reserve(doubled);
  return true;
}

asio::awaitable<bool> WholeAnswer::PassHeld() {
  if (!passing_) {
    passing_ = state_.any_answer = true;
    const HeaderList headers = delivery_.Headers();
    state_.client().BeginWhole(head_.content_type, headers, head_.length);
  }
  // The client must not see the end of an answer that may be bad.
  const std::string last(1, held_.back());
  held_.pop_back();
  const bool alive = co_await Pass(held_);
  if (held_.capacity() > AnswerMemory::kBlock) {
    std::string().swap(held_);
    held_.reserve(AnswerMemory::kBlock);
    memory_.Hold(AnswerMemory::kBlock);
  }
  held_ = last;
  co_return alive;
}

asio::awaitable<bool> WholeAnswer::Pass(absl::string_view bytes) {
  while (!bytes.empty()) {
    const absl::string_view part = bytes.substr(0, kLongestWrite);
    bytes.remove_prefix(part.size());
    const bool alive = co_await SendPart(state_.client(), part);
    if (!alive) co_return false;
    co_await Step();
  }
  co_return true;
}

std::optional<AttemptEnd> WholeAnswer::Judge(const AnswerFacts& facts, absl::string_view body) {
  if (facts.malformed) return NoObject();
  if (facts.error) return SaidByEngine(state_, ErrorInAnswer(body), passing_, delivery_.resume_due());
  if (facts.finish_reason == kFinishAborted) {
    return EngineSaid(AbortedByEngine(), /*in_stream=*/true, /*resume_due=*/false);
  }
  if (StreamsChunks(state_.request.endpoint) && !facts.choices) {
    return EngineFailed(EngineErrorKind::kGarbage, "The engine's answer has no choice in `choices`.");
  }
  state_.answer.usage = facts.usage;
  if (state_.answer.usage) KeepPossible(state_.answer.usage_check, *state_.answer.usage);
  state_.answer.finish_reason = facts.finish_reason;
  // The engine of a background response has yet to work.
  if (!state_.facts().background) admission_.Close(Outcome::kFinished);
  return std::nullopt;
}

std::optional<AttemptEnd> WholeAnswer::SendNow(absl::string_view body, const AnswerFacts& facts) {
  if (auto end = Judge(facts, body)) return end;
  if (body.size() > kLongestWrite) return std::nullopt;
  state_.any_answer = true;
  // Before the write: a client that has its answer may ask again at once.
  if (!state_.facts().background) state_.prepared.place_of_key.reset();
  const Written written = state_.client().Whole(http_status::kOk, head_.content_type, delivery_.Headers(), body);
  if (written == Written::kPart) return std::nullopt;
  return Sent(written == Written::kAll);
}

// A body at hand has waited for nobody so far.
asio::awaitable<AttemptEnd> WholeAnswer::FinishSend(absl::string_view body) {
  if (!memory_.Hold(std::max(body.size(), held_.capacity()))) co_return NoRoomForAnswer(state_);
  bool alive = false;
  if (body.size() <= kLongestWrite) {
    alive = co_await state_.client().FinishWhole();
  } else {
    state_.any_answer = true;
    const HeaderList headers = delivery_.Headers();
    state_.client().BeginWhole(head_.content_type, headers, body.size());
    alive = co_await Pass(body);
    if (alive) alive = co_await state_.client().End();
  }
  co_return Sent(alive);
}

AttemptEnd WholeAnswer::Sent(bool alive) {
  if (!alive) return ClientTakesNoMore(state_.client());
  if (state_.answer.usage) delivery_.OnWhole(state_.answer.usage->output.value());
  return AttemptEnd();
}

asio::awaitable<void> WholeAnswer::Step() {
  if (!turn_.Step(Now())) co_return;
  co_await LetOthersRun(state_.loop.io());
  turn_.Restart(Now());
}

}  // namespace penstock
