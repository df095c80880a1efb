#include "router/openai/request/json_walk.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/utf8.h"

namespace penstock {
namespace {

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool InNumber(char c) { return IsDecimal(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// Removes the leading digits of `text` and counts them.
size_t TakeDecimals(absl::string_view& text) {
  const size_t before = text.size();
  while (!text.empty() && IsDecimal(text[0])) text.remove_prefix(1);
  return before - text.size();
}

// A number of fewer digits before its point and a smaller exponent than these is finite.
constexpr size_t kFiniteDigits = 200;
constexpr size_t kFiniteExponentDigits = 2;

// Most parsers refuse a number that overflows a double.
bool FitsDouble(absl::string_view number) {
  double value = 0;
  return absl::SimpleAtod(number, &value) && std::isfinite(value);
}

bool IsJsonNumber(absl::string_view text) {
  const absl::string_view whole = text;
  absl::ConsumePrefix(&text, "-");
  size_t digits = 1;
  if (!absl::ConsumePrefix(&text, "0") && (digits = TakeDecimals(text)) == 0) return false;
  if (absl::ConsumePrefix(&text, ".") && TakeDecimals(text) == 0) return false;
  bool finite = digits <= kFiniteDigits;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    const bool small = absl::ConsumePrefix(&text, "-");
    if (!small) absl::ConsumePrefix(&text, "+");
    const size_t exponent = TakeDecimals(text);
    if (exponent == 0) return false;
    finite = finite && (small || exponent <= kFiniteExponentDigits);
  }
  return text.empty() && (finite || FitsDouble(whole));
}

}  // namespace

void JsonWalk::SetStop(size_t bytes) {
  const auto left = static_cast<size_t>(end_ - at_);
  stop_ = at_ + std::min(bytes, left);
  if (stop_ == end_) return;
  const auto inside = [this] { return ContinuesUtf8(static_cast<unsigned char>(*stop_)); };
  for (int i = 0; i < 3 && stop_ < end_ && inside(); ++i) ++stop_;
}

bool JsonWalk::InString(TextCounter* counter) {
  while (true) {
    at_ = counter != nullptr ? counter->JsonPlain(at_, stop_) : SkipPlainJson(at_, stop_);
    if (at_ >= stop_) return false;
    if (*at_ == '"') return true;
    if (*at_ != '\\') return Fail();
    const JsonEscape escape = ReadJsonEscape(at_, end_);
    if (escape.kind != JsonEscape::Kind::kCharacter) return Fail();
    escaped_ = true;
    if (counter != nullptr) counter->Character(escape.point);
    at_ += escape.length;
  }
}

bool JsonWalk::TakeScalar() {
  const char first = *at_;
  const absl::string_view rest(at_, static_cast<size_t>(end_ - at_));
  if (first == 'n' || first == 't' || first == 'f') {
    const absl::string_view literal = first == 'n' ? "null" : first == 't' ? "true" : "false";
    if (!absl::StartsWith(rest, literal)) return false;
    at_ += literal.size();
    return true;
  }
  const char* const start = at_;
  const char* const most = start + std::min(rest.size(), kMaxNumber + 1);
  while (at_ < most && InNumber(*at_)) ++at_;
  const auto size = static_cast<size_t>(at_ - start);
  const bool good = size <= kMaxNumber && IsJsonNumber(absl::string_view(start, size));
  if (!good) at_ = start;
  return good;
}

}  // namespace penstock
