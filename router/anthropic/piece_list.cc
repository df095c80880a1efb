#include "router/anthropic/piece_list.h"

namespace penstock::anthropic {

void PieceList::Add(absl::string_view text) {
  if (text.empty()) return;
  if (segments_.empty() || !segments_.back().own) segments_.push_back({true, JsonSpan{own_.size(), own_.size()}});
  own_.append(text.data(), text.size());
  segments_.back().span.end = own_.size();
}

void PieceList::Add(JsonSpan span) {
  if (span.size() <= kShort) return Add(other_.substr(span.begin, span.size()));
  segments_.push_back({false, span});
}

std::vector<absl::string_view> PieceList::Pieces() const {
  std::vector<absl::string_view> pieces;
  pieces.reserve(segments_.size());
  for (const Segment& segment : segments_) {
    const absl::string_view text = segment.own ? absl::string_view(own_) : other_;
    pieces.push_back(text.substr(segment.span.begin, segment.span.size()));
  }
  return pieces;
}

}  // namespace penstock::anthropic
