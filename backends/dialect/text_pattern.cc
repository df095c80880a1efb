#include "backends/dialect/text_pattern.h"

#include <simdjson.h>

#include "absl/strings/match.h"
#include "base/json_string.h"

namespace penstock {
namespace {

// A longer event is rare.
constexpr size_t kMaxPattern = 2048;

}  // namespace

void TextPattern::Learn(const SseSplitter::Event& event, const StreamFacts& facts) {
  const bool only_text = facts.has_text && facts.only_text.data() != nullptr && !facts.finish && !facts.done &&
                         !facts.usage && !facts.error && !facts.malformed && event.name.empty();
  if (!active_ || !only_text || event.data.size() > kMaxPattern) return;
  const auto begin = static_cast<size_t>(facts.only_text.data() - event.data.data());
  before_.assign(event.data.data(), begin);
  const absl::string_view rest = event.data.substr(begin + facts.only_text.size());
  after_.assign(rest.data(), rest.size());
  is_content_ = facts.content.data() == facts.only_text.data();
  other_text_ = facts.other_text;
  has_role_ = facts.has_role;
}

std::optional<StreamFacts> TextPattern::Match(const SseSplitter::Event& event) const {
  absl::string_view text = event.data;
  if (before_.empty() || text.size() <= before_.size() + after_.size() || !event.name.empty()) return std::nullopt;
  if (!absl::StartsWith(text, before_) || !absl::EndsWith(text, after_)) return std::nullopt;
  text = text.substr(before_.size(), text.size() - before_.size() - after_.size());
  const char* const end = text.data() + text.size();
  if (SkipPlainJson(text.data(), end) != end || !simdjson::validate_utf8(text.data(), text.size())) return std::nullopt;
  StreamFacts facts;
  facts.has_text = true;
  facts.other_text = other_text_;
  facts.has_role = has_role_;
  if (is_content_) facts.content = text;
  return facts;
}

}  // namespace penstock
