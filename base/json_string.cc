#include "base/json_string.h"

#include "base/utf8.h"

namespace penstock {
namespace {

constexpr int kUnitEscape = 6;  // \uXXXX
constexpr uint32_t kReplacement = 0xFFFD;

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The UTF-16 unit of \uXXXX at `at`, or -1.
int32_t EscapedUnit(const char* at, const char* end) {
  if (end - at < kUnitEscape || at[0] != '\\' || at[1] != 'u') return -1;
  int32_t unit = 0;
  for (int i = 2; i < kUnitEscape; ++i) {
    const int digit = HexValue(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool IsHigh(int32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLow(int32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

// The character of a two-byte escape, or 0.
uint32_t ShortEscape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return static_cast<uint32_t>(c);
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

}  // namespace

JsonEscape ReadJsonEscape(const char* at, const char* end) {
  using Kind = JsonEscape::Kind;
  if (end - at < 2) return {};
  if (at[1] != 'u') {
    const uint32_t point = ShortEscape(at[1]);
    return point == 0 ? JsonEscape() : JsonEscape{Kind::kCharacter, 2, point};
  }
  const int32_t unit = EscapedUnit(at, end);
  if (unit < 0) return {};
  if (!IsHigh(unit) && !IsLow(unit)) return {Kind::kCharacter, kUnitEscape, static_cast<uint32_t>(unit)};
  const int32_t low = IsHigh(unit) ? EscapedUnit(at + kUnitEscape, end) : -1;
  if (!IsLow(low)) return {Kind::kLone, kUnitEscape, kReplacement};
  return {Kind::kCharacter, 2 * kUnitEscape, static_cast<uint32_t>(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))};
}

bool AppendUnescaped(absl::string_view inside, std::string* out) {
  while (true) {
    const size_t plain = inside.find('\\');
    if (plain == absl::string_view::npos) break;
    out->append(inside.data(), plain);
    inside.remove_prefix(plain);
    const JsonEscape escape = ReadJsonEscape(inside.data(), inside.data() + inside.size());
    if (escape.kind != JsonEscape::Kind::kCharacter) return false;
    AppendUtf8(escape.point, out);
    inside.remove_prefix(static_cast<size_t>(escape.length));
  }
  out->append(inside.data(), inside.size());
  return true;
}

bool EscapesAreWhole(absl::string_view inside) {
  const char* const end = inside.data() + inside.size();
  for (const char* at = SkipPlainJson(inside.data(), end); at < end; at = SkipPlainJson(at, end)) {
    // Most escapes stand for a line break or a quote.
    const char* const before = at;
    while (end - at >= 2 && *at == '\\' && ShortEscape(at[1]) != 0) at += 2;
    if (at != before) continue;
    const JsonEscape escape = ReadJsonEscape(at, end);
    if (escape.kind == JsonEscape::Kind::kBroken) return false;
    at += escape.length;
  }
  return true;
}

void AppendJsonEscaped(absl::string_view text, std::string* out) {
  constexpr absl::string_view kShort = "btn?fr";  // For the characters 8 to 13.
  constexpr absl::string_view kHex = "0123456789abcdef";
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    const char* const stop = SkipPlainJson(at, end);
    out->append(at, stop);
    if (stop == end) return;
    const auto c = static_cast<unsigned char>(*stop);
    at = stop + 1;
    out->push_back('\\');
    if (c >= ' ') {
      out->push_back(*stop);
    } else if (c >= 8 && c <= 13 && c != 11) {
      out->push_back(kShort[c - 8]);
    } else {
      out->append("u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
    }
  }
}

std::string UnescapeJson(absl::string_view inside) {
  std::string text;
  text.reserve(inside.size());
  return AppendUnescaped(inside, &text) ? text : std::string(inside);
}

}  // namespace penstock
