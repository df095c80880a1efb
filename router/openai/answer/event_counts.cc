#include "router/openai/answer/event_counts.h"

#include <algorithm>
#include <cstdlib>

namespace penstock {
namespace {

// Tokens that a template puts around a text that goes on, or leaves out there. A count that differs by more is
// another's.
constexpr int64_t kMostOfTemplate = 8;

}  // namespace

bool EventCounts::Learn(const StreamFacts& facts, size_t bytes, Instant now) {
  const bool credible = !facts.usage || LearnUsage(*facts.usage);
  in_event_ = TokensOf(facts, bytes);
  if (in_event_ > 0) {
    in_pieces_ += in_event_;
    const int64_t progress = Progress(facts);
    progress_ += progress;
    state_.relayed.counter.Count(progress, now);
  }
  // The events that came are the better count.
  if (!credible) state_.usage->output = Tokens(state_.generated());
  return in_event_ > 0;
}

bool EventCounts::LearnUsage(Usage usage) {
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

int64_t EventCounts::Progress(const StreamFacts& facts) {
  RelayedTokens& relayed = state_.relayed;
  ++relayed.events;
  if (facts.usage) return in_event_;
  relayed.more += relayed.per_event - 1;
  const auto whole = static_cast<int64_t>(relayed.more);
  relayed.more -= static_cast<double>(whole);
  return in_event_ + whole;
}

int64_t EventCounts::TokensOf(const StreamFacts& facts, size_t bytes) const {
  if (!facts.has_text) return 0;
  if (!facts.usage || facts.finish || facts_.n != 1 || facts_.prompts != 1) return 1;
  // An engine that tells more tokens than bytes is wrong.
  return std::clamp<int64_t>(state_.usage->output.value() - state_.generated(), 1, static_cast<int64_t>(bytes));
}

}  // namespace penstock
