#include "router/openai/answer/stream_relay.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "backends/dialect/messages/message_events.h"

namespace penstock {
namespace {

constexpr size_t kMaxEarly = 4 << 10;
// Tokens by which two counts of a text may differ; an eighth of a long one.
constexpr int64_t kMiscount = 16;
// Tokens that a template puts around a text that goes on, or leaves out there. A count that differs by more is
// another's.
constexpr int64_t kMostOfTemplate = 8;

bool IsEndMark(const SseSplitter::Event& event) { return absl::StripAsciiWhitespace(event.data) == "[DONE]"; }

}  // namespace

void RelayState::Restart(bool keep_delivered, bool trimmed) {
  if (keep_delivered && usage) {
    // An engine that tells its usage all along counts better than events do.
    unseen = std::max(unseen, usage->output.value() - delivered);
    if (!reported && usage->prompt > Tokens(0)) reported = usage;
  }
  if (!keep_delivered) delivered = unseen = 0;
  carried = client_tokens();
  relayed.in_prompt.reset();
  relayed.prompt.reset();
  relayed.before = keep_delivered ? generated() : 0;
  relayed.counter.Reset(std::max(carried, relayed.before));
  usage.reset();
  early.clear();
  finish_reason.clear();
  resumed = keep_delivered;
  shown.message.BeginAttempt();
  if (!keep_delivered) {
    text.Clear();
    other_text = usage_sent = false;
    shown = ShownAnswer();
    reported.reset();
  }
  overlap = trimmed ? std::string(TrailingSpace(text.text())) : "";
}

void RelayState::CountText(Tokens tokens) {
  const int64_t off = std::abs(tokens.value() - relayed.before);
  const bool far_off = off > std::max(kMiscount, relayed.before / 8);
  relayed.miscounted |= far_off;
  unseen = std::max(unseen, tokens.value() - delivered);
  carried = client_tokens();
  // Text that is read again may have some tokens fewer than it was written with.
  if (tokens > Tokens(0) && !far_off) relayed.in_prompt = tokens.value();
  relayed.counter.Reset(carried);
}

void RelayState::EstimateText(Tokens limit) {
  const int64_t most = limit > Tokens(0) ? limit.value() - 1 : relayed.before;
  unseen = std::max(unseen, std::min(relayed.before, most) - delivered);
  carried = client_tokens();
}

StreamRelay::StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state, std::optional<size_t> longest)
    : endpoint_(endpoint), facts_(facts), state_(state), pattern_(endpoint) {
  if (longest) reassembly_ = std::make_unique<Reassembly>(endpoint, *longest);
}

StreamRelay::Result StreamRelay::Feed(absl::string_view bytes, Instant now) {
  pieces_.Clear();
  tokens_.in_pieces = tokens_.progress = 0;
  if (closed()) return Result::kDone;
  splitter_.Feed(bytes);
  while (const auto event = splitter_.Next()) {
    const Result result = Take(*event, now);
    if (result != Result::kGoOn) return result;
    if (closed()) break;
  }
  return done() ? Result::kDone : Result::kGoOn;
}

void StreamRelay::Flush() {
  pieces_.Clear();
  tokens_.in_pieces = tokens_.progress = 0;
  Release("");
}

void StreamRelay::Release(absl::string_view fingerprint) {
  pieces_.Release(fingerprint);
  tokens_.in_pieces += std::exchange(tokens_.held, 0);
}

StreamRelay::Result StreamRelay::Take(const SseSplitter::Event& event, Instant now) {
  if (done() && !IsEndMark(event)) return Result::kGoOn;
  if (event.garbled) return Result::kMalformed;
  if (event.comment) {
    if (!reassembly_ && (any_event_ || comments_pass)) pieces_.Pass(event.raw);
    return Result::kGoOn;
  }
  std::optional<StreamFacts> known = pattern_.Match(event);
  if (!known) {
    known = endpoint_ == Endpoint::kMessages ? ReadMessageEvent(event) : ReadStreamEvent(endpoint_, event);
    pattern_.Learn(event, *known);
  }
  StreamFacts& facts = *known;
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
    if (facts.usage) LearnUsage(*facts.usage);
    if (joins) return state_.shown.message.Join(facts), Result::kGoOn;
    state_.shown.message.OnPassed(facts);
    state_.early.append(event.raw.data(), event.raw.size());
    return Result::kGoOn;
  }
  any_event_ = true;
  if (!state_.early.empty()) PassEarly();
  Learn(facts, event.data.size(), now);
  if (reassembly_) return reassembly_->Add(event.data, facts.done) ? Result::kGoOn : Result::kTooLong;
  if (facts.nothing) {
    Release("");
    pieces_.Pass(event.raw);
    return Result::kGoOn;
  }
  const bool dropped = facts.usage_only && !facts_.asks_usage;
  Release(dropped ? ReadChunkNames(event.data).fingerprint : std::string());
  if (!dropped) PassEvent(event, facts);
  return Result::kGoOn;
}

void StreamRelay::Learn(const StreamFacts& facts, size_t bytes, Instant now) {
  if (facts.finish) {
    ++finishes_;
    if (state_.finish_reason != "length") state_.finish_reason = facts.finish_reason;
  }
  // The mark is no finish; the last event of the responses dialect is one, and the mark may follow it.
  if (facts.done) end_ = facts.finish ? End::kLastEvent : End::kMark;
  const bool credible = !facts.usage || LearnUsage(*facts.usage);
  tokens_.in_event = TokensOf(facts, bytes);
  if (tokens_.in_event > 0) {
    any_text_ = true;
    tokens_.in_pieces += tokens_.in_event;
    const int64_t progress = Progress(facts);
    tokens_.progress += progress;
    state_.relayed.counter.Count(progress, now);
  }
  // The events that came are the better count.
  if (!credible) state_.usage->output = Tokens(state_.generated());
}

bool StreamRelay::LearnUsage(Usage usage) {
  const bool credible = KeepPossible(state_.usage_check, usage);
  if (endpoint_ == Endpoint::kMessages && usage.prompt == Tokens(0) && state_.usage) {
    // The first event has the count of the prompt, the last one that of the output.
    state_.usage->output = usage.output + Tokens(state_.carried);
    return credible;
  }
  const Tokens carried(state_.carried);
  const Tokens in_prompt(state_.relayed.in_prompt.value_or(state_.carried));
  state_.usage = Usage{usage.prompt, usage.output + carried, usage.cached};
  if (state_.reported) {
    state_.usage->prompt = state_.reported->prompt;
    state_.usage->cached = state_.reported->cached;
  } else if (state_.carried > 0) {
    const Tokens rest = std::max(Tokens(0), usage.prompt - in_prompt);
    const Tokens counted = state_.relayed.prompt.value_or(rest);
    const bool near = std::abs((counted - rest).value()) <= kMostOfTemplate;
    state_.usage->prompt = near ? counted : rest;
    // The cached part of a continued prompt says nothing about the prompt that arrived.
    state_.usage->cached = Tokens(-1);
  }
  return credible;
}

int64_t StreamRelay::Progress(const StreamFacts& facts) {
  RelayedTokens& relayed = state_.relayed;
  ++relayed.events;
  if (facts.usage) return tokens_.in_event;
  relayed.more += relayed.per_event - 1;
  const auto whole = static_cast<int64_t>(relayed.more);
  relayed.more -= static_cast<double>(whole);
  return tokens_.in_event + whole;
}

int64_t StreamRelay::TokensOf(const StreamFacts& facts, size_t bytes) const {
  if (!facts.has_text) return 0;
  if (!facts.usage || facts.finish || facts_.n != 1 || facts_.prompts != 1) return 1;
  // An engine that tells more tokens than bytes is wrong.
  return std::clamp<int64_t>(state_.usage->output.value() - state_.generated(), 1, static_cast<int64_t>(bytes));
}

void StreamRelay::PassEvent(const SseSplitter::Event& event, const StreamFacts& facts) {
  if (!state_.shown.names) {
    const bool chunk = !facts.done && StreamsChunks(endpoint_);
    state_.shown.names = chunk ? ReadChunkNames(event.data) : ChunkNames();
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
  // An engine that was asked for its usage says its fingerprint there, in an event that this client does not get.
  const bool last = facts.finish && !facts.done && !facts_.asks_usage && StreamsChunks(endpoint_) &&
                    !absl::StrContains(event.data, "\"system_fingerprint\"");
  if (last) {
    pieces_.Hold(continued.empty() ? event.raw : continued);
    tokens_.held = tokens_.in_event;
    tokens_.in_pieces -= tokens_.held;
  } else if (!continued.empty()) {
    pieces_.PassMade(std::move(continued));
  } else {
    pieces_.Pass(event.raw);
  }
}

std::string StreamRelay::Continued(const SseSplitter::Event& event, const StreamFacts& facts) {
  const bool bare = !facts.other_text && !facts.finish && !facts.usage;
  if (bare && facts.content.empty() && facts.has_role) return "";  // The answer was opened before.
  const absl::string_view fresh = WithoutOverlap(facts.content);
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

absl::string_view StreamRelay::WithoutOverlap(absl::string_view content) {
  std::string& overlap = state_.overlap;
  if (overlap.empty() || content.empty()) return content;
  if (absl::StartsWith(content, overlap)) {
    content.remove_prefix(overlap.size());
    overlap.clear();
  } else if (absl::StartsWith(overlap, content)) {
    overlap.erase(0, content.size());
    content = absl::string_view();
  } else {
    overlap.clear();
  }
  return content;
}

void StreamRelay::PassEarly() {
  std::string early = std::exchange(state_.early, std::string());
  if (!reassembly_ && !state_.resumed) pieces_.PassMade(std::move(early));
}

absl::StatusOr<JsonPieces> StreamRelay::Assembled() { return reassembly_->Body(); }

}  // namespace penstock
