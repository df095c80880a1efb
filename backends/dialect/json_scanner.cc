#include "backends/dialect/json_scanner.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/json_string.h"

namespace penstock {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool NumberCharacter(char c) { return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

}  // namespace

bool JsonScanner::TakeString(absl::string_view* raw) {
  if (Peek() != '"') return false;
  const char* const start = ++at_;
  while (true) {
    at_ = SkipPlainJson(at_, end_);
    if (at_ == end_) return false;
    if (*at_ == '"') {
      *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
      ++at_;
      return true;
    }
    if (*at_ != '\\' || end_ - at_ < 2) return false;
    // A text of escapes alone costs no search for each.
    do {
      at_ += 2;
    } while (end_ - at_ >= 2 && *at_ == '\\');
  }
}

bool JsonScanner::Skip() {
  absl::string_view ignored;
  switch (Peek()) {
    case '"':
      return TakeString(&ignored);
    case '{':
      return ForEachMember([this](absl::string_view) { return Skip(); });
    case '[':
      return ForEachElement([this] { return Skip(); });
    default:
      return SkipScalar();
  }
}

bool JsonScanner::SkipScalar() {
  const char first = Peek();
  if (first == 'n' || first == 't' || first == 'f') {
    const absl::string_view literal = first == 'n' ? "null" : first == 't' ? "true" : "false";
    const absl::string_view rest(at_, static_cast<size_t>(end_ - at_));
    at_ += std::min(literal.size(), rest.size());
    return absl::StartsWith(rest, literal);
  }
  const char* const start = at_;
  while (at_ < end_ && NumberCharacter(*at_)) ++at_;
  return at_ != start;
}

bool JsonScanner::TakeRaw(absl::string_view* raw) {
  const char* const start = at_;
  if (!Skip()) return false;
  *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
  return true;
}

bool JsonScanner::CopyString(std::string* out) {
  if (Peek() != '"') return Skip();
  absl::string_view text;
  if (!TakeString(&text)) return false;
  out->clear();
  return AppendUnescaped(text, out);
}

bool JsonScanner::CopyInt(int64_t* out) {
  // Token counts have a few digits.
  constexpr std::ptrdiff_t kShort = 18;
  const char* digit = at_;
  int64_t plain = 0;
  while (digit < end_ && digit - at_ < kShort && IsDigit(*digit)) plain = plain * 10 + (*digit++ - '0');
  if (digit > at_ && digit < end_ && *at_ != '0' && !NumberCharacter(*digit)) {
    at_ = digit;
    *out = plain;
    return true;
  }
  absl::string_view raw;
  if (!TakeRaw(&raw)) return false;
  int64_t number = 0;
  if (absl::SimpleAtoi(raw, &number) && raw[0] != '"') *out = number;
  return true;
}

}  // namespace penstock
