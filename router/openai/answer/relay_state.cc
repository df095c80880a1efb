#include "router/openai/answer/relay_state.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"

namespace penstock {
namespace {

// Tokens by which two counts of a text may differ; an eighth of a long one.
constexpr int64_t kMiscount = 16;

}  // namespace

void RelayState::Restart(bool keep_delivered, bool trimmed) {
  if (keep_delivered && usage) {
    // An engine that tells its usage all along counts better than events do. A token has a byte at least.
    const auto bytes = static_cast<int64_t>(text.text().size());
    const int64_t most = text.whole() ? bytes + kMiscount : usage->output.value();
    unseen = std::max(unseen, std::min(most, usage->output.value()) - delivered);
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
  // Against a usage that the text cannot have, its own count stands.
  const int64_t counted = tokens.value() - delivered;
  const int64_t over = client_tokens() - tokens.value();
  const bool overstated = tokens > Tokens(0) && over > std::max(kMiscount, tokens.value() / 8);
  unseen = overstated ? std::max<int64_t>(0, counted) : std::max(unseen, counted);
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

absl::string_view RelayState::WithoutOverlap(absl::string_view content) {
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

}  // namespace penstock
