#include "backends/simulated/face/choice_plan.h"

#include <algorithm>

namespace penstock::simulated {

std::string_view ChoicePlan::PieceOf(uint64_t seed, int64_t position) const {
  if (silent) return {};
  if (document) return (*document)[static_cast<size_t>(position)];
  std::string_view piece = PieceAt(seed, conversation, given.tokens.value() + position);
  if (position == 0) piece.remove_prefix(given.bytes);
  return piece;
}

void ChoicePlan::ApplyStops(uint64_t seed, const std::vector<std::string>& stops) {
  if (stops.empty() || silent) return;
  size_t longest = 0;
  for (const std::string& candidate : stops) longest = std::max(longest, candidate.size());
  std::string text;
  for (int64_t made = 1; made <= output.value(); ++made) {
    const std::string_view piece = PieceOf(seed, made - 1);
    const size_t known = text.size() < longest ? 0 : text.size() - longest;
    text += piece;
    size_t first = std::string::npos;
    for (const std::string& candidate : stops) {
      const size_t at = text.find(candidate, known);
      if (at >= first) continue;
      first = at;
      stop = candidate;
    }
    if (first == std::string::npos) continue;
    text_bytes = first;
    output = Tokens(made);
    reason = FinishReason::kStop;
    return;
  }
}

}  // namespace penstock::simulated
