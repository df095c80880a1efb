#include "router/http/stream_relay.h"

#include <algorithm>
#include <utility>

#include "router/http/chunk_rewrite.h"

namespace penstock {

void RelayState::Restart(bool keep_delivered) {
  if (!keep_delivered) delivered = 0;
  counter.Reset(delivered);
  carried = delivered;
  usage.reset();
  finish_reason.clear();
  if (keep_delivered) return;
  text.clear();
  first_id.clear();
  first_created.clear();
  continuable = true;
}

StreamRelay::StreamRelay(Endpoint endpoint, const RequestFacts& facts, RelayState& state, bool to_client)
    : endpoint_(endpoint), facts_(facts), state_(state), to_client_(to_client) {
  if (!to_client_) assembler_.emplace(endpoint);
}

StreamRelay::Verdict StreamRelay::Feed(absl::string_view bytes, Instant now) {
  pieces_.clear();
  rewritten_.clear();
  new_tokens_ = 0;
  splitter_.Feed(bytes);
  while (const auto event = splitter_.Next()) {
    const Verdict verdict = Take(*event, now);
    if (verdict == Verdict::kError || verdict == Verdict::kMalformed) return verdict;
  }
  return done_ ? Verdict::kDone : Verdict::kGoOn;
}

StreamRelay::Verdict StreamRelay::Take(const SseSplitter::Event& event, Instant now) {
  if (event.comment) {
    if (to_client_ && (any_event_ || comments_pass)) Pass(event.raw);
    return Verdict::kGoOn;
  }
  StreamFacts facts = ReadStreamEvent(endpoint_, event);
  if (facts.error) {
    error_ = std::move(facts.error);
    return Verdict::kError;
  }
  if (facts.malformed) return Verdict::kMalformed;
  any_event_ = true;
  Learn(facts, now);
  if (!to_client_) {
    if (!facts.done && assembly_.ok()) assembly_ = assembler_->Add(event.data);
    return Verdict::kGoOn;
  }
  if (facts.usage_only && !facts_.asks_usage) return Verdict::kGoOn;
  if (KeepForContinuation(event, facts)) Pass(event.raw);
  return Verdict::kGoOn;
}

void StreamRelay::Learn(const StreamFacts& facts, Instant now) {
  if (facts.has_text) {
    any_text_ = true;
    ++new_tokens_;
    state_.counter.Count(1, now);
  }
  if (facts.finish) {
    finished_ = true;
    if (state_.finish_reason != "length") state_.finish_reason = facts.finish_reason;
  }
  done_ = done_ || facts.done;
  if (facts.usage) {
    const Tokens carried(state_.carried);
    state_.usage = Usage{std::max(Tokens(0), facts.usage->prompt - carried), facts.usage->output + carried};
  }
}

bool StreamRelay::KeepForContinuation(const SseSplitter::Event& event, const StreamFacts& facts) {
  if (facts.done || (!state_.keep_text && state_.carried == 0)) return true;
  const ChunkParts parts = ReadChunk(endpoint_, event.data);
  if (state_.first_id.empty()) {
    state_.first_id = std::string(parts.id);
    state_.first_created = std::string(parts.created);
  }
  state_.text += parts.text;
  if (parts.uncontinuable || state_.text.size() > kMaxKeptText) {
    state_.continuable = false;
    state_.text.clear();
  }
  if (state_.carried == 0) return true;
  if (parts.opens) return false;
  rewritten_.push_back(RewriteChunk(event.data, state_.first_id, state_.first_created, state_.usage.value_or(Usage{})));
  Pass(rewritten_.back());
  return false;
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
