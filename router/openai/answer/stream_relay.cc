#include "router/openai/answer/stream_relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace penstock {
namespace {

constexpr size_t kMaxEarly = 4 << 10;

}  // namespace

void RelayState::Restart(bool keep_delivered, bool trimmed) {
  if (!keep_delivered) delivered = 0;
  counter.Reset(delivered);
  carried = delivered;
  usage.reset();
  early.clear();
  finish_reason.clear();
  resumed = keep_delivered;
  if (!keep_delivered) {
    text.Clear();
    other_text = opened = usage_sent = false;
    names = ChunkNames();
  }
  overlap = trimmed ? std::string(TrailingSpace(text.text())) : "";
}

StreamRelay::StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state, bool to_client)
    : endpoint_(endpoint), facts_(facts), state_(state), to_client_(to_client), pattern_(endpoint) {
  if (!to_client_) assembler_.emplace(endpoint);
}

StreamRelay::Result StreamRelay::Feed(absl::string_view bytes, Instant now) {
  pieces_.clear();
  rewritten_.clear();
  new_tokens_ = 0;
  splitter_.Feed(bytes);
  while (const auto event = splitter_.Next()) {
    const Result result = Take(*event, now);
    if (result != Result::kGoOn) return result;
  }
  return done_ ? Result::kDone : Result::kGoOn;
}

StreamRelay::Result StreamRelay::Take(const SseSplitter::Event& event, Instant now) {
  if (event.garbled) return Result::kMalformed;
  if (event.comment) {
    if (to_client_ && (any_event_ || comments_pass)) Pass(event.raw);
    return Result::kGoOn;
  }
  std::optional<StreamFacts> known = pattern_.Match(event);
  if (!known) {
    known = ReadStreamEvent(endpoint_, event);
    pattern_.Learn(event, *known);
  }
  StreamFacts& facts = *known;
  if (facts.error) {
    error_ = std::move(facts.error);
    return Result::kError;
  }
  if (facts.malformed) return Result::kMalformed;
  if (facts.nothing && !any_event_) {
    state_.early.append(event.raw.data(), event.raw.size());
    return state_.early.size() <= kMaxEarly ? Result::kGoOn : Result::kMalformed;
  }
  any_event_ = true;
  if (!state_.early.empty()) PassEarly();
  Learn(facts, now);
  if (!to_client_) {
    assembled_ += event.data.size();
    if (assembled_ > max_reassembled) return Result::kTooLong;
    if (!facts.done && assembly_.ok()) assembly_ = assembler_->Add(event.data);
    return Result::kGoOn;
  }
  if (facts.nothing) {
    Pass(event.raw);
    return Result::kGoOn;
  }
  if (facts.usage_only && !facts_.asks_usage) return Result::kGoOn;
  PassEvent(event, facts);
  return Result::kGoOn;
}

void StreamRelay::Learn(const StreamFacts& facts, Instant now) {
  if (facts.has_text) {
    any_text_ = true;
    ++new_tokens_;
    state_.counter.Count(1, now);
  }
  if (facts.finish) {
    ++finishes_;
    if (state_.finish_reason != "length") state_.finish_reason = facts.finish_reason;
  }
  done_ = done_ || facts.done;
  if (facts.usage) {
    const Tokens carried(state_.carried);
    state_.usage = Usage{std::max(Tokens(0), facts.usage->prompt - carried), facts.usage->output + carried};
  }
}

void StreamRelay::PassEvent(const SseSplitter::Event& event, const StreamFacts& facts) {
  if (!state_.opened && !facts.done && endpoint_ != Endpoint::kResponses) state_.names = ReadChunkNames(event.data);
  state_.opened = true;
  state_.other_text |= facts.other_text;
  state_.usage_sent |= facts.usage_only;
  if (state_.resumed && !facts.done) return PassContinued(event, facts);
  state_.text.Append(facts.content);
  Pass(event.raw);
}

void StreamRelay::PassContinued(const SseSplitter::Event& event, const StreamFacts& facts) {
  const bool bare = !facts.other_text && !facts.finish && !facts.usage;
  if (bare && facts.content.empty() && facts.has_role) return;  // The answer was opened before.
  const absl::string_view fresh = WithoutOverlap(facts.content);
  if (bare && fresh.empty() && !facts.content.empty()) return;
  state_.text.Append(fresh);
  ChunkEdit edit;
  edit.usage = state_.usage.value_or(Usage{});
  if (fresh.size() != facts.content.size()) {
    edit.content = facts.content;
    edit.new_content = fresh;
  }
  rewritten_.push_back(RewriteChunk(event.data, state_.names, edit));
  Pass(rewritten_.back());
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
  rewritten_.push_back(std::exchange(state_.early, ""));
  if (to_client_ && !state_.resumed) Pass(rewritten_.back());
}

void StreamRelay::Pass(absl::string_view raw) {
  if (!pieces_.empty() && pieces_.back().data() + pieces_.back().size() == raw.data()) {
    pieces_.back() = absl::string_view(pieces_.back().data(), pieces_.back().size() + raw.size());
  } else {
    pieces_.push_back(raw);
  }
}

absl::StatusOr<std::string> StreamRelay::Assembled() {
  if (!assembly_.ok()) return assembly_;
  return assembler_->Finish();
}

}  // namespace penstock
