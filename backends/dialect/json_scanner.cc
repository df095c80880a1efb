#include "backends/dialect/json_scanner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/byte_block.h"

namespace penstock {
namespace {

// The end of the plain characters that begin at `at`.
const char* SkipPlain(const char* at, const char* end) {
  for (; end - at >= static_cast<std::ptrdiff_t>(kBlockBytes); at += kBlockBytes) {
    const size_t plain = FirstSet(EndsJsonText(LoadBlock(at)));
    if (plain < kBlockBytes) return at + plain;
  }
  while (at < end && !EndsJsonText(static_cast<unsigned char>(*at))) ++at;
  return at;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool NumberCharacter(char c) { return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// Removes the leading digits of `text`. False when there are none.
bool TakeDigits(absl::string_view& text) {
  const size_t before = text.size();
  while (!text.empty() && IsDigit(text[0])) text.remove_prefix(1);
  return text.size() != before;
}

constexpr size_t kFiniteDigits = 300;

// Most parsers refuse a number that overflows a double.
bool IsFinite(absl::string_view number) {
  double value = 0;
  return absl::SimpleAtod(number, &value) && std::isfinite(value);
}

bool IsNumber(absl::string_view text) {
  const absl::string_view whole = text;
  absl::ConsumePrefix(&text, "-");
  if (!absl::ConsumePrefix(&text, "0") && !TakeDigits(text)) return false;
  if (absl::ConsumePrefix(&text, ".") && !TakeDigits(text)) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    return TakeDigits(text) && text.empty() && IsFinite(whole);
  }
  return text.empty() && (whole.size() <= kFiniteDigits || IsFinite(whole));
}

constexpr size_t kUnitEscape = 6;  // \uXXXX

bool IsLowSurrogate(int64_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

// The UTF-16 unit of a leading \uXXXX, or -1.
int64_t EscapedUnit(absl::string_view text) {
  if (text.size() < kUnitEscape || text[0] != '\\' || text[1] != 'u') return -1;
  int64_t unit = 0;
  for (const char c : text.substr(2, kUnitEscape - 2)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return -1;
    unit = unit * 16 + (IsDigit(c) ? c - '0' : absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10);
  }
  return unit;
}

}  // namespace

bool JsonScanner::TakeString(absl::string_view* raw) {
  if (Peek() != '"') return false;
  const char* const start = ++at_;
  while (true) {
    at_ = SkipPlain(at_, end_);
    if (at_ == end_) return false;
    if (*at_ == '"') {
      *raw = absl::string_view(start, static_cast<size_t>(at_ - start));
      ++at_;
      return true;
    }
    if (*at_ != '\\' || !SkipEscape()) return false;
  }
}

bool JsonScanner::CountString(TextCounts* counts) {
  if (Peek() != '"') return false;
  ++at_;
  TextCounter counter;
  while ((at_ = counter.JsonPlain(at_, end_)) < end_ && *at_ == '\\') {
    const char* const escape = at_;
    if (!SkipEscape()) return false;
    at_ = counter.JsonEscape(escape, end_);
  }
  if (Peek() != '"') return false;
  ++at_;
  *counts += counter.counts();
  return true;
}

bool JsonScanner::SkipEscape() {
  if (end_ - at_ < 2) return false;
  if (rules_ == Rules::kEngine) return at_ += 2, true;
  const absl::string_view rest(at_, static_cast<size_t>(end_ - at_));
  if (rest[1] != 'u') return at_ += 2, absl::string_view("\"\\/bfnrt").find(rest[1]) != absl::string_view::npos;
  const int64_t unit = EscapedUnit(rest);
  if (unit < 0 || IsLowSurrogate(unit)) return false;
  const bool pair = unit >= 0xD800 && unit <= 0xDBFF;
  if (pair && !IsLowSurrogate(EscapedUnit(rest.substr(kUnitEscape)))) return false;
  at_ += pair ? 2 * kUnitEscape : kUnitEscape;
  return true;
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
  if (rules_ == Rules::kStrict) return IsNumber(absl::string_view(start, static_cast<size_t>(at_ - start)));
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
  if (text.find('\\') == absl::string_view::npos) {
    out->assign(text.data(), text.size());
    return true;
  }
  const auto plain = nlohmann::json::parse(text.data() - 1, text.data() + text.size() + 1, nullptr, false);
  if (!plain.is_string()) return false;
  *out = plain.get<std::string>();
  return true;
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
