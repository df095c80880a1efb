#include "router/openai/answer/stream_relay.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace penstock {
namespace {

constexpr size_t kMaxEarly = 4 << 10;

bool IsEndMark(const SseSplitter::Event& event) { return absl::StripAsciiWhitespace(event.data) == "[DONE]"; }

// A long event was read before.
ChunkNames NamesOf(const SseSplitter::Event& event, const LongEvent* read) {
  return read != nullptr ? read->names : ReadChunkNames(event.data);
}

}  // namespace

StreamRelay::StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state, std::optional<size_t> longest)
    : endpoint_(endpoint), facts_(facts), state_(state), pattern_(endpoint), counts_(endpoint, facts, state) {
  if (longest) reassembly_ = std::make_unique<Reassembly>(endpoint, *longest);
}

StreamRelay::Result StreamRelay::Feed(absl::string_view bytes, Instant now) {
  pieces_.Clear();
  counts_.Begin();
  if (closed()) return Result::kDone;
  splitter_.Feed(bytes);
  return TakeEvents(now);
}

StreamRelay::Result StreamRelay::FeedOwned(std::string bytes, Instant now) {
  pieces_.Clear();
  counts_.Begin();
  if (closed()) return Result::kDone;
  splitter_.FeedOwned(std::move(bytes));
  return TakeEvents(now);
}

StreamRelay::Result StreamRelay::TakeEvents(Instant now) {
  while (const auto event = splitter_.Next()) {
    const Result result = Take(*event, now);
    if (result != Result::kGoOn) return result;
    if (closed()) break;
  }
  return done() ? Result::kDone : Result::kGoOn;
}

std::unique_ptr<LongEvent> StreamRelay::TakeLong() {
  long_->memory = splitter_.Lend();
  long_->reassembly = std::move(reassembly_);
  return std::move(long_);
}

StreamRelay::Result StreamRelay::Resume(std::unique_ptr<LongEvent> event, Instant now) {
  splitter_.Return(std::move(event->memory));
  reassembly_ = std::move(event->reassembly);
  pieces_.Clear();
  counts_.Begin();
  long_ = std::move(event);
  const Result result = TakeFacts(long_->event, long_->facts, now);
  long_.reset();
  if (result != Result::kGoOn) return result;
  return closed() ? Result::kDone : TakeEvents(now);
}

void StreamRelay::Flush() {
  pieces_.Clear();
  counts_.Begin();
  Release("");
}

void StreamRelay::Release(absl::string_view fingerprint) {
  pieces_.Release(fingerprint);
  counts_.Release();
}

StreamRelay::Result StreamRelay::Take(const SseSplitter::Event& event, Instant now) {
  if (done() && !IsEndMark(event)) return Result::kGoOn;
  if (event.garbled) return Result::kMalformed;
  if (event.comment) {
    if (!reassembly_ && (any_event_ || comments_pass)) pieces_.Pass(event.raw);
    return Result::kGoOn;
  }
  if (event.data.size() > SseSplitter::kLong) {
    long_ = std::make_unique<LongEvent>(endpoint_, event);
    return Result::kLong;
  }
  std::optional<StreamFacts> known = pattern_.Match(event);
  if (!known) {
    known = ReadEvent(endpoint_, event);
    pattern_.Learn(event, *known);
  }
  return TakeFacts(event, *known, now);
}

StreamRelay::Result StreamRelay::TakeFacts(const SseSplitter::Event& event, StreamFacts& facts, Instant now) {
  if (facts.error || facts.malformed) Release("");
  if (facts.error) {
    error_ = std::make_unique<const EngineError>(*std::move(facts.error));
    return Result::kError;
  }
  if (facts.malformed) return Result::kMalformed;
  if (facts.done && !facts.finish && !any_event_) return Result::kEmpty;
  if (facts.nothing && !any_event_) {
    state_.early.append(event.raw.data(), event.raw.size());
    return state_.early.size() <= kMaxEarly ? Result::kGoOn : Result::kMalformed;
  }
  const bool joins = state_.resumed && state_.shown.message.Joins(facts);
  const bool fits = !state_.resumed && state_.early.size() + event.raw.size() <= kMaxEarly;
  if (facts.opening && !reassembly_ && !any_event_ && (joins || fits)) {
    // Without it, a client can still get the answer of another engine.
    if (facts.usage) counts_.LearnUsage(*facts.usage);
    if (joins) return state_.shown.message.Join(facts), Result::kGoOn;
    state_.shown.message.OnPassed(facts);
    state_.early.append(event.raw.data(), event.raw.size());
    return Result::kGoOn;
  }
  any_event_ = true;
  if (!state_.early.empty()) PassEarly();
  Learn(facts, event.data.size(), now);
  if (reassembly_) {
    const bool has_room = long_ ? long_->fits : reassembly_->Add(event.data, facts.done);
    return has_room ? Result::kGoOn : Result::kTooLong;
  }
  if (facts.nothing) {
    Release("");
    pieces_.Pass(event.raw);
    return Result::kGoOn;
  }
  const bool dropped = facts.usage_only && !facts_.asks_usage;
  Release(dropped ? NamesOf(event, long_.get()).fingerprint : std::string());
  if (!dropped) PassEvent(event, facts);
  return Result::kGoOn;
}

void StreamRelay::Learn(const StreamFacts& facts, size_t bytes, Instant now) {
  if (facts.finish) {
    if (!finished()) finished_choices_.insert(facts.choice);
    if (state_.finish_reason != "length") state_.finish_reason = facts.finish_reason;
  }
  // The mark is no finish; the last event of the responses dialect is one, and the mark may follow it.
  if (facts.done) end_ = facts.finish ? End::kLastEvent : End::kMark;
  any_text_ |= counts_.Learn(facts, bytes, now);
}

void StreamRelay::PassEvent(const SseSplitter::Event& event, const StreamFacts& facts) {
  if (!state_.shown.names) {
    const bool chunk = !facts.done && StreamsChunks(endpoint_);
    state_.shown.names = chunk ? NamesOf(event, long_.get()) : ChunkNames();
  }
  state_.other_text |= facts.other_text;
  state_.usage_sent |= facts.usage_only;
  std::string continued;
  if (state_.resumed && !facts.done) {
    continued = Continued(event, facts);
    if (continued.empty()) return;
  } else {
    state_.text.Append(facts.content);
    state_.shown.message.OnPassed(facts);
  }
  // An engine that was asked for its usage says its fingerprint there, in an event that this client does not get. A
  // long event would be searched and copied.
  const bool last = facts.finish && !facts.done && !facts_.asks_usage && !long_ && StreamsChunks(endpoint_) &&
                    !absl::StrContains(event.data, "\"system_fingerprint\"");
  if (last) {
    pieces_.Hold(continued.empty() ? event.raw : continued);
    counts_.Hold();
  } else if (!continued.empty()) {
    pieces_.PassMade(std::move(continued));
  } else {
    pieces_.Pass(event.raw);
  }
}

std::string StreamRelay::Continued(const SseSplitter::Event& event, const StreamFacts& facts) {
  const bool bare = !facts.other_text && !facts.finish && !facts.usage;
  if (bare && facts.content.empty() && facts.has_role) return "";  // The answer was opened before.
  const absl::string_view fresh = state_.WithoutOverlap(facts.content);
  if (endpoint_ == Endpoint::kMessages) {
    state_.text.Append(fresh);
    Usage usage = state_.usage.value_or(Usage());
    usage.output = state_.output();
    return state_.shown.message.Continued(event, facts, fresh, usage);
  }
  if (bare && fresh.empty() && !facts.content.empty()) return "";
  state_.text.Append(fresh);
  ChunkEdit edit;
  edit.usage = state_.usage.value_or(Usage{});
  if (fresh.size() != facts.content.size()) {
    edit.content = facts.content;
    edit.new_content = fresh;
  }
  return RewriteChunk(event.data, *state_.shown.names, edit);
}

void StreamRelay::PassEarly() {
  std::string early = std::exchange(state_.early, std::string());
  if (!reassembly_ && !state_.resumed) pieces_.PassMade(std::move(early));
}

absl::StatusOr<JsonPieces> StreamRelay::Assembled() { return reassembly_->Body(); }

}  // namespace penstock
